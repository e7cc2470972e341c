package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
)

// process is a candidate that runs.
type process struct {
	*os.Process
	cmd    *exec.Cmd
	stderr bytes.Buffer  // to be read after done is closed
	done   chan struct{} // closed when it has ended, and all that it told was heard
	err    error         // likewise
}

// startProcess starts a candidate that does not outlive the test. heard is
// called with what it tells, from a goroutine of the process's.
func startProcess(t *testing.T, electionName, url string, ttl time.Duration, heard func(*process, term)) *process {
	t.Helper()
	program, err := os.Executable()
	must(t, "finding the test binary", err)
	p := &process{cmd: exec.Command(program), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(),
		candidateEnv+"ELECTION="+electionName,
		candidateEnv+"URL="+url,
		candidateEnv+"SESSION_TTL="+coord.Duration(ttl).String())
	p.cmd.Stderr = &p.stderr
	// If the test program dies: SIGKILL, as it ends frozen processes too.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go p.run(started, func(m term) { heard(p, m) })
	must(t, "starting a candidate", <-started)
	t.Cleanup(func() {
		_ = p.Kill() // if it still runs
		<-p.done
	})
	return p
}

// run is the process's life.
func (p *process) run(started chan<- error, heard func(term)) {
	defer close(p.done)
	// The kernel sends the parent-death signal when this thread ends, see
	// prctl(2), so it has to stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	p.Process = p.cmd.Process
	started <- err
	if err != nil {
		return
	}
	for told := json.NewDecoder(out); err == nil; {
		var m term
		if err = told.Decode(&m); err == nil {
			heard(m)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	p.err = errors.Join(err, p.cmd.Wait())
}

// complaint is what a process says that nothing was to go wrong in, after it has
// ended: races and goroutines that are left, too.
func (p *process) complaint() error {
	if p.stderr.Len() > 0 {
		return fmt.Errorf("candidate %d said: %s", p.Pid, &p.stderr)
	}
	return nil
}
