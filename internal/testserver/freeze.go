package testserver

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// stateInterval is how often the state of a signaled process is read.
const stateInterval = time.Millisecond

// Freeze stops the process (SIGSTOP): it keeps its connections and does nothing,
// as a paused virtual machine. When Freeze returns all its threads have stopped.
// Freezing a frozen process is a success, freezing one that has ended an error.
func (p *Process) Freeze() error {
	return p.setFrozen(true, syscall.SIGSTOP)
}

// Thaw lets a frozen process go on (SIGCONT). When Thaw returns none of its
// threads is stopped. Thawing a process that is not frozen is a success, thawing
// one that has ended an error.
func (p *Process) Thaw() error {
	return p.setFrozen(false, syscall.SIGCONT)
}

func (p *Process) setFrozen(frozen bool, s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.setStopped(frozen, s); err != nil {
		return err
	}
	p.frozen = frozen
	if frozen {
		return p.guardChildren()
	}
	return p.dismissGuard()
}

// setStopped stops or continues the process and its children, for a caller that
// holds p.mu.
func (p *Process) setStopped(stopped bool, s syscall.Signal) error {
	for deadline := time.Now().Add(signalTimeout); ; {
		if p.run.ended() {
			return fmt.Errorf("%v: %w: %w", s, errNotRunning, p.command.endOf(p.run))
		}
		// Each time again, as the process may have started another child.
		if err := p.signal(s); err != nil {
			return err
		}
		reached, err := p.allProcesses(stopped)
		// A process that has just ended has no threads to read; the loop finds
		// its end next.
		if err != nil && !isGone(err) {
			return fmt.Errorf("%s: %v: %w", p.command.name, s, err)
		}
		if reached {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: %v: not carried out after %v", p.command.name, s, signalTimeout)
		}
		time.Sleep(stateInterval)
	}
}

// allProcesses is allThreads of the process and its children. A stopped process
// starts no other, so the children are looked up after it.
func (p *Process) allProcesses(stopped bool) (bool, error) {
	if reached, err := allThreads(p.run.pid, stopped); err != nil || !reached {
		return false, err
	}
	children, err := p.children()
	if err != nil {
		return false, err
	}
	for _, pid := range children {
		if reached, err := allThreads(pid, stopped); err != nil || !reached {
			return false, err
		}
	}
	return true, nil
}

// allThreads reports whether every thread of the process is stopped, or, if
// stopped is false, whether none is.
func allThreads(pid int, stopped bool) (bool, error) {
	// A thread may start another one after the first list was taken. It cannot
	// once a stop is under way, so the second list is complete.
	for range 2 {
		states, err := threadStates(pid)
		if err != nil || len(states) == 0 {
			return false, err
		}
		for _, state := range states {
			if (state == 'T') != stopped {
				return false, nil
			}
		}
	}
	return true, nil
}

// threadStates returns the state letters of the process's threads as in
// /proc/PID/stat, see proc_pid_stat(5).
func threadStates(pid int) ([]byte, error) {
	tasks := filepath.Join("/proc", strconv.Itoa(pid), "task")
	entries, err := os.ReadDir(tasks)
	if err != nil {
		return nil, err
	}
	var states []byte
	for _, entry := range entries {
		stat, err := os.ReadFile(filepath.Join(tasks, entry.Name(), "stat"))
		if isGone(err) {
			continue // the thread has ended
		}
		if err != nil {
			return nil, err
		}
		// "pid (name) state ...", where the name may hold parentheses.
		end := bytes.LastIndexByte(stat, ')')
		if end < 0 || end+2 >= len(stat) {
			return nil, fmt.Errorf("%s/%s/stat: no thread state in %q", tasks, entry.Name(), stat)
		}
		states = append(states, stat[end+2])
	}
	return states, nil
}

// isGone reports whether a read in /proc failed because its process or thread
// has ended: the file is gone, or it is open and its subject is gone.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}
