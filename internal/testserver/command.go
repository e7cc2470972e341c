package testserver

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// command says how to run a server process. A server must stay one process: a
// shell script that starts another must exec it, as the kernel kills only the
// direct child with its parent.
type command struct {
	name string   // how errors call it, such as "etcd member 0"
	path string   // the executable
	args []string // without the program's name
	env  []string // nil means this program's own
	dir  *runDir  // is in use as long as the process lives
	log  string   // file to append standard output and error to
	// workDir is the working directory of the process and its children, if it has
	// children that leave its process group; else it is empty.
	workDir string
	// unprivileged runs the process as [unprivileged] says.
	unprivileged bool
}

// environWithout returns this program's environment without the variables whose
// names begin with a prefix, which are meant for other servers.
func environWithout(prefixes ...string) []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(kv, prefix) })
	})
}

// milliseconds is d as servers' flags and files have it.
func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// run is one life of a process.
type run struct {
	pid  int
	done chan struct{} // closed when the process has ended and was reaped
	err  error         // how it ended; to be read after done is closed
}

func (r *run) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// start starts the process and a goroutine that reaps it and ends with it.
func (c command) start() (*run, error) {
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: open its log: %w", c.name, err)
	}
	defer log.Close() // the process has its own copy

	cmd := exec.Command(c.path, c.args...)
	cmd.Dir = c.dir.path
	cmd.Env = c.env
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{c.dir.lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		// A terminal's interrupt goes to this program alone; the servers follow
		// when it ends.
		Setpgid: true,
		// SIGKILL, as it ends stopped processes too.
		Pdeathsig: syscall.SIGKILL,
	}
	if c.unprivileged {
		unprivileged(cmd)
	}

	r := &run{done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The parent-death signal is sent when the thread that forked ends, not
		// when its process does (prctl(2)). So this thread must live as long as
		// the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			r.err = cmd.Wait()
			close(r.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%s: start: %w", c.name, err)
	}
	r.pid = cmd.Process.Pid
	return r, nil
}

// endOf tells how the run r, which has ended, did so.
func (c command) endOf(r *run) error {
	return &exitError{name: c.name, err: r.err, logTail: logTail(c.log)}
}

// exitError is the end of a process that was expected to run.
type exitError struct {
	name    string
	err     error // nil after exit status 0
	logTail string
}

func (e *exitError) Error() string {
	how := "exit status 0"
	if e.err != nil {
		how = e.err.Error()
	}
	return fmt.Sprintf("%s ended (%s), the last lines of its log:\n%s", e.name, how, e.logTail)
}

func (e *exitError) Unwrap() error { return e.err }
