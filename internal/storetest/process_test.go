package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/storetest/trial"
)

// processEnv begins the variables that make the test binary another program: which
// one, its argument, and the settings of its client.
const processEnv = "COORDKIT_PROCESS_"

// otherPrograms are what the test binary can be. Their ctx ends with SIGTERM.
var otherPrograms = map[string]func(ctx context.Context, c *coord.Client, arg string) error{
	"candidate": runCandidate,
	"holder": func(ctx context.Context, c *coord.Client, _ string) error {
		return trial.Serve(ctx, pipes{os.Stdin, os.Stdout}, c)
	},
}

// A program never gets as far as to the tests.
func init() {
	program := os.Getenv(processEnv + "PROGRAM")
	if program == "" {
		return
	}
	if err := runProgram(program); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runProgram(program string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	config, err := coord.FromEnv(processEnv)
	if err != nil {
		return err
	}
	client, err := config.Open(ctx)
	if err != nil {
		return err
	}
	err = otherPrograms[program](ctx, client, os.Getenv(processEnv+"ARG"))
	closing, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err = errors.Join(err, reached(closing, client), client.Close(closing))
	stop() // its goroutine is not the client's
	return errors.Join(err, leaked())
}

// pipes are the standard input and output of a process, from either side.
type pipes struct {
	io.ReadCloser
	io.WriteCloser
}

func (p pipes) Close() error { return errors.Join(p.ReadCloser.Close(), p.WriteCloser.Close()) }

// process is another program that runs.
type process struct {
	*os.Process
	cmd    *exec.Cmd
	stderr bytes.Buffer  // to be read after done is closed
	done   chan struct{} // closed when it has ended, and talk has returned
	err    error         // likewise
}

// startProcess starts a program that does not outlive the test. talk is called with
// its standard input and output, from a goroutine of the process's, and reads to the
// end.
func startProcess(t *testing.T, program, arg, url string, ttl time.Duration, talk func(*process, pipes) error) *process {
	t.Helper()
	executable, err := os.Executable()
	must(t, "finding the test binary", err)
	p := &process{cmd: exec.Command(executable), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(),
		processEnv+"PROGRAM="+program,
		processEnv+"ARG="+arg,
		processEnv+"URL="+url,
		processEnv+"SESSION_TTL="+coord.Duration(ttl).String())
	p.cmd.Stderr = &p.stderr
	// If the test program dies: SIGKILL, as it ends frozen processes too.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go p.run(started, talk)
	must(t, "starting a "+program, <-started)
	t.Cleanup(func() {
		_ = p.Kill() // if it still runs
		<-p.done
	})
	return p
}

// run is the process's life.
func (p *process) run(started chan<- error, talk func(*process, pipes) error) {
	defer close(p.done)
	// The kernel sends the parent-death signal when this thread ends, see
	// prctl(2), so it has to stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var ends pipes
	err := errors.Join(
		open(&ends.ReadCloser, p.cmd.StdoutPipe),
		open(&ends.WriteCloser, p.cmd.StdinPipe))
	if err == nil {
		err = p.cmd.Start()
	}
	p.Process = p.cmd.Process
	started <- err
	if err != nil {
		return
	}
	p.err = errors.Join(talk(p, ends), p.cmd.Wait())
}

func open[T any](to *T, pipe func() (T, error)) (err error) {
	*to, err = pipe()
	return err
}

// complaint is what a process says that nothing was to go wrong in, after it has
// ended: races and goroutines that are left, too.
func (p *process) complaint() error {
	if p.stderr.Len() > 0 {
		return fmt.Errorf("process %d said: %s", p.Pid, &p.stderr)
	}
	return nil
}
