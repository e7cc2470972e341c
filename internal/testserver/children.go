package testserver

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// children returns the processes besides the main one that work in the command's
// working directory. It finds them after the main process has ended too.
func (p *Process) children() ([]int, error) {
	if p.command.workDir == "" {
		return nil, nil
	}
	pids, err := processesIn(p.command.workDir)
	return slices.DeleteFunc(pids, func(pid int) bool { return pid == p.run.pid }), err
}

// processesIn returns the processes whose working directory is dir. A process
// that has ended and was not reaped has none.
func processesIn(dir string) ([]int, error) {
	want, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue // not a process
		}
		// An error means that the process has ended or is another user's.
		if got, err := os.Stat(filepath.Join("/proc", entry.Name(), "cwd")); err == nil && os.SameFile(got, want) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

func (p *Process) signalChildren(s syscall.Signal) error {
	children, err := p.children()
	if err != nil {
		return err
	}
	for _, pid := range children {
		if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("%s: send %v to its child %d: %w", p.command.name, s, pid, err)
		}
	}
	return nil
}

// killChildren kills what is left after the main process, and returns when it is
// gone.
func (p *Process) killChildren() error {
	for deadline := time.Now().Add(signalTimeout); ; time.Sleep(stateInterval) {
		children, err := p.children()
		if err != nil {
			return err
		}
		if len(children) == 0 {
			return p.dismissGuard()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: kill: its children %v are still there after %v", p.command.name, children, signalTimeout)
		}
		if err := p.signalChildren(syscall.SIGKILL); err != nil {
			return err
		}
	}
}

// guard is a process that kills stopped children when this program ends. The
// kernel kills the main process then, and a stopped child does not notice.
type guard struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

// guardChildren starts a guard of the children, which are stopped.
func (p *Process) guardChildren() error {
	children, err := p.children()
	if err != nil || len(children) == 0 || p.guard != nil {
		return err
	}
	args := []string{"-c", `read -r word || kill -KILL "$@"`, "sh"}
	for _, pid := range children {
		args = append(args, strconv.Itoa(pid))
	}
	cmd := exec.Command("/bin/sh", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // out of reach of a terminal's interrupt
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: guard its children: %w", p.command.name, err)
	}
	p.guard = &guard{cmd, stdin}
	return nil
}

// dismissGuard ends the guard, which then kills nothing.
func (p *Process) dismissGuard() error {
	g := p.guard
	if g == nil {
		return nil
	}
	p.guard = nil
	_, err := io.WriteString(g.stdin, "dismissed\n")
	return errors.Join(err, g.cmd.Wait())
}
