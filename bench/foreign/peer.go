package foreign

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// grace is how long a worker has to end once it has nothing more to say, and its
// error output to be read once it has ended.
const grace = 5 * time.Second

// errClosed is the end of a peer that was closed.
var errClosed = errors.New("the peer was closed")

// Peer is a library in a process of its own, its worker. The worker ends with
// Close or, as it reads from this program, with this program. Methods may be
// called from any goroutine.
type Peer struct {
	// Name is the library's, such as "kazoo".
	Name string
	// Version is that of the library and of its language, such as "kazoo 2.8.0,
	// Python 3.11.2".
	Version string

	cmd    *exec.Cmd
	stdin  io.Closer
	stderr *tail
	root   string // path in ZooKeeper that no other peer uses
	closed atomic.Bool

	mu      sync.Mutex // held during a case; guards what follows
	in      *json.Encoder
	out     *json.Decoder
	cases   int
	waitErr error // of the worker, once it was reaped
	reaped  bool
}

// start starts a worker and returns when it is ready for cases; ctx bounds that.
func start(ctx context.Context, name string, cmd *exec.Cmd) (*Peer, error) {
	p := &Peer{Name: name, cmd: cmd, stderr: &tail{}, root: "/bench-" + name + "-" + rand.Text()}
	cmd.Stderr = p.stderr
	// A terminal's interrupt goes to this program alone, and the worker follows.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = grace // nobody else has the other end of stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), in.Close())
	}
	p.stdin, p.in, p.out = in, json.NewEncoder(in), json.NewDecoder(out)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: start: %w", name, err)
	}
	ready, err := p.next(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: start: %w", name, err), p.Close())
	}
	p.Version = ready.Version
	return p, nil
}

// Run has the peer work on a case and returns what came of it. One case runs at
// a time; others wait. Connections stay open for later cases. The first time a case runs in Java it is slower, until its
// code is compiled; so run it twice and keep the second result.
//
// ctx bounds the case, not the wait for others. It cannot be ended otherwise, so
// when ctx ends the worker is killed, and the peer is of no more use. A library's
// error is an error of the case alone.
func (p *Peer) Run(ctx context.Context, c Case) (Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cases++
	req, err := c.request(fmt.Sprintf("%s/%d", p.root, p.cases))
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", p.Name, err)
	}
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("%s: case %s: %w", p.Name, c.Name, err)
	}
	if err := p.in.Encode(req); err != nil {
		return Result{}, fmt.Errorf("%s: case %s: %w", p.Name, c.Name, p.ended(err))
	}
	a, err := p.next(ctx)
	if err == nil && a.Ready {
		if c.Begin != nil {
			c.Begin()
		}
		if err := p.in.Encode(struct{}{}); err != nil {
			return Result{}, fmt.Errorf("%s: case %s: %w", p.Name, c.Name, p.ended(err))
		}
		a, err = p.next(ctx)
	}
	if err != nil {
		return Result{}, fmt.Errorf("%s: case %s: %w", p.Name, c.Name, err)
	}
	return Result{
		Ops:             a.Ops,
		Seconds:         a.Seconds,
		LatenciesMicros: a.LatenciesMicros,
		HandoffMicros:   a.HandoffMicros,
		PerClientOps:    a.PerClientOps,
		ElectedMicros:   a.ElectedMicros,
	}, nil
}

// next returns the worker's next answer. It kills the worker when ctx ends, which
// ends its output and so the wait for it.
func (p *Peer) next(ctx context.Context) (answer, error) {
	stop := context.AfterFunc(ctx, func() { _ = p.kill() })
	defer stop()
	var a answer
	if err := p.out.Decode(&a); err != nil {
		if ctx.Err() != nil {
			return a, fmt.Errorf("the worker was killed: %w", context.Cause(ctx))
		}
		return a, p.ended(err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// ended tells why the worker can be talked to no more, for a caller that holds
// p.mu and has the error of the attempt.
func (p *Peer) ended(err error) error {
	if p.closed.Load() {
		return errClosed
	}
	// It may end by itself, and then how it does is worth to be known, or only
	// have said what is no answer.
	killer := time.AfterFunc(grace, func() { _ = p.kill() })
	defer killer.Stop()
	return fmt.Errorf("the worker has ended: %w\n%s", errors.Join(err, p.reap()), p.stderr)
}

// reap waits for the worker's end and returns how it ended.
func (p *Peer) reap() error {
	if !p.reaped {
		p.reaped, p.waitErr = true, p.cmd.Wait()
	}
	return p.waitErr
}

// kill kills the worker if it has not ended.
func (p *Peer) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Close kills the worker and returns when it is gone. A case that runs ends with
// an error. The sessions that it had open end with their timeout. Closing again is
// no error.
func (p *Peer) Close() error {
	p.closed.Store(true)
	if err := p.kill(); err != nil {
		return fmt.Errorf("%s: close: %w", p.Name, err)
	}
	p.mu.Lock() // free as soon as the case sees the end of the output
	defer p.mu.Unlock()
	if err := p.reap(); errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("%s: close: %w", p.Name, err)
	}
	return nil
}

// tail keeps the last of what is written to it.
type tail struct {
	mu   sync.Mutex
	last []byte
}

// tailSize is room for the stack trace of an exception.
const tailSize = 4096

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, b...)
	t.last = t.last[max(0, len(t.last)-tailSize):]
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.last)
}
