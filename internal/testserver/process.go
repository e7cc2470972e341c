package testserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// signalTimeout bounds the wait for the kernel to carry out a signal. It takes
// well under a millisecond, unless the process waits for a disk.
const signalTimeout = 30 * time.Second

var (
	errNotRunning = errors.New("the process is not running")
	errKilled     = errors.New("the process was killed on purpose")
	errFrozen     = errors.New("the process is frozen")
	errClosed     = errors.New("the server was closed")
)

// Process is a server process that can be killed, frozen, thawed and restarted,
// in any order and from any goroutine. It runs in a process group of its own and
// dies with the program that started it. What happens to it happens to its
// children too.
//
// A method returns when what it asks for has happened, not when the signal is
// sent; a kernel that does not carry a signal out within half a minute gives an
// error.
type Process struct {
	command command

	mu     sync.Mutex // serializes the methods that send signals; guards what follows
	run    *run       // the latest run, never nil
	killed bool       // by Kill or close, rather than by itself
	frozen bool
	closed bool
	guard  *guard // kills the children that are frozen if this program ends; may be nil
}

// startProcess runs c. The process may still fail on its own, see [Process.Wait].
func startProcess(c command) (*Process, error) {
	r, err := c.start()
	if err != nil {
		return nil, err
	}
	return &Process{command: c, run: r}, nil
}

// PID returns the id of the latest process.
func (p *Process) PID() int {
	return p.current().pid
}

// LogTail returns the last lines of what the process wrote to its standard
// output and error, over all its restarts.
func (p *Process) LogTail() string { return logTail(p.command.log) }

// Logged reports whether the process has written a text to its standard output or
// error, before any of its restarts or since.
func (p *Process) Logged(text string) bool {
	log, err := os.ReadFile(p.command.log)
	return err == nil && bytes.Contains(log, []byte(text))
}

// Wait waits until the process has ended by itself or by [Process.Kill], or
// until ctx ends, and returns an error that says which, with the last lines of
// the process's log in the first case. It does not follow a restart.
func (p *Process) Wait(ctx context.Context) error {
	r := p.current()
	// If both are ready the process's end is as true an answer as the context's.
	select {
	case <-r.done:
		return p.command.endOf(r)
	case <-ctx.Done():
		return fmt.Errorf("%s: wait for its end: %w", p.command.name, ctx.Err())
	}
}

// Kill ends the process as a crash does (SIGKILL), frozen or not, and returns
// when it is gone. Killing a process that has ended is a success.
func (p *Process) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kill()
}

// kill is Kill for a caller that holds p.mu.
func (p *Process) kill() error {
	// The children stop before the first process is killed, so that none of them
	// acts on the death of another.
	if p.command.workDir != "" && !p.run.ended() {
		if err := p.setStopped(true, syscall.SIGSTOP); err != nil && !errors.Is(err, errNotRunning) {
			return err
		}
	}
	if !p.run.ended() {
		if err := p.signal(syscall.SIGKILL); err != nil {
			return err
		}
	}
	timer := time.NewTimer(signalTimeout)
	defer timer.Stop()
	// If both are ready, a wrong complaint is possible only after half a minute.
	select {
	case <-p.run.done:
		p.killed = true
		return p.killChildren()
	case <-timer.C:
		return fmt.Errorf("%s: kill: still there after %v", p.command.name, signalTimeout)
	}
}

// Restart kills the process if it runs and starts it again with the same
// arguments, and so on the same ports and data. It does not wait for the server
// to serve: a server may have to wait for others that are down.
func (p *Process) Restart() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fmt.Errorf("%s: restart: %w", p.command.name, errClosed)
	}
	if err := p.kill(); err != nil {
		return err
	}
	r, err := p.command.start()
	if err != nil {
		return err
	}
	p.run, p.killed, p.frozen = r, false, false
	return nil
}

// close kills the process for good.
func (p *Process) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return p.kill()
}

// serving returns nil if the process runs and is not frozen. Otherwise the error
// is errKilled or errFrozen, which the caller has brought about, or
// errNotRunning, which it has not.
func (p *Process) serving() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.killed:
		return fmt.Errorf("%s: %w", p.command.name, errKilled)
	case p.run.ended():
		return fmt.Errorf("%w: %w", errNotRunning, p.command.endOf(p.run))
	case p.frozen:
		return fmt.Errorf("%s: %w", p.command.name, errFrozen)
	}
	return nil
}

func (p *Process) current() *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.run
}

// signal sends s to the process's group and to its children; the caller holds p.mu.
func (p *Process) signal(s syscall.Signal) error {
	err := syscall.Kill(-p.run.pid, s)
	// No such process: it has just ended by itself, which its run will tell.
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("%s: send %v: %w", p.command.name, s, err)
	}
	return p.signalChildren(s)
}
