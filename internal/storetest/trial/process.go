package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"sync"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/storetest/register"
)

// Process is a Holder in a process of its own, which runs [Serve]: it can be paused
// and killed. What it tells and asks comes by way of net/rpc.
type Process struct {
	conn io.ReadWriteCloser
}

// InAnotherProcess holds with the process at the other end of a connection. The
// caller starts it, and closes the connection when it has ended.
func InAnotherProcess(conn io.ReadWriteCloser) *Process { return &Process{conn} }

func (p *Process) client() *coord.Client { return nil }

func (p *Process) acquire(b *batch) error {
	d := &desk{b: b, holds: make([]*remote, len(b.trials)), gone: make(chan struct{})}
	for i := range d.holds {
		d.holds[i] = &remote{t: b.trials[i]}
	}
	d.acquiring.Add(len(b.trials))
	s := rpc.NewServer()
	if err := s.RegisterName("Desk", d); err != nil {
		return err
	}
	b.calls.Go(func() {
		s.ServeConn(ending{p.conn, sync.OnceFunc(func() { close(d.gone) })})
		for _, h := range d.holds {
			h.finish(false, nil) // which it did not tell itself
		}
	})
	all := make(chan struct{})
	go func() { d.acquiring.Wait(); close(all) }()
	select {
	case <-all:
		return nil
	case <-d.gone:
		return errors.New("the process that is to hold the locks has ended")
	case <-b.ctx.Done():
		return b.ctx.Err()
	}
}

// ending is a connection that tells when it has ended, before net/rpc has answered
// the last call.
type ending struct {
	io.ReadWriteCloser
	tell func()
}

func (e ending) Read(b []byte) (int, error) {
	n, err := e.ReadWriteCloser.Read(b)
	if err != nil {
		e.tell()
	}
	return n, err
}

// desk is what the process calls. Its methods are those of net/rpc.
type desk struct {
	b         *batch
	holds     []*remote // by lock
	acquiring sync.WaitGroup
	gone      chan struct{} // closed when the process has ended
}

// Message is what a process tells of one of its locks.
type Message struct {
	Lock    int
	Token   uint64
	Session string
	Lost    bool   // the hold is over, and was not let go
	Why     string // of what is lost or failed
	Op      register.Op
	Entry   int
}

// Reply is the answer of the resource.
type Reply struct {
	register.Answer
	Entry int
}

// Assignment says what to acquire.
type Assignment struct {
	Locks    []string
	Sessions int
}

// Assign tells the process what to acquire.
func (d *desk) Assign(_ int, a *Assignment) error {
	a.Sessions = d.b.o.Sessions
	for _, t := range d.b.trials {
		a.Locks = append(a.Locks, t.name)
	}
	return nil
}

// Calling is told before a lock is asked for.
func (d *desk) Calling(m Message, _ *int) error {
	h := d.holds[m.Lock]
	h.op = d.b.history.Call(HolderName+".holds", h.t.name, history.Exclusive, 0)
	return nil
}

// Failed is told when a lock was not granted.
func (d *desk) Failed(m Message, _ *int) error {
	h := d.holds[m.Lock]
	h.op.Failed(m.err(), nil, 0)
	h.t.over(true)
	d.acquiring.Done()
	return nil
}

// err is the error that a message tells of.
func (m Message) err() error {
	switch {
	case m.Lost:
		return fmt.Errorf("%w: %s", coord.ErrSessionLost, m.Why)
	case m.Why != "":
		return errors.New(m.Why)
	}
	return nil
}

// Granted is told when a lock is held.
func (d *desk) Granted(m Message, _ *int) error {
	h := d.holds[m.Lock]
	h.grant(m)
	d.acquiring.Done()
	return nil
}

// Do reads or writes the resource.
func (d *desk) Do(m Message, r *Reply) (err error) {
	r.Answer, r.Entry, err = d.holds[m.Lock].access.do(m.Op)
	return err
}

// Held is told of a refusal that came while the lock was held.
func (d *desk) Held(m Message, _ *int) error { return d.holds[m.Lock].access.held(m.Entry) }

// Over is told when the holder knows that its hold is over, or is about to let go.
func (d *desk) Over(m Message, _ *int) error {
	d.holds[m.Lock].finish(m.Lost, m.err())
	return nil
}

// Wait returns when the process may let go of what it holds.
func (d *desk) Wait(int, *int) error {
	select { // if both, the answer reaches nobody
	case <-d.b.letGo:
	case <-d.gone:
	}
	return nil
}

// remote is a hold of the process, as the history sees it.
type remote struct {
	t      *trial
	op     *history.Op
	access access
	token  uint64
	ctx    context.Context
	cancel context.CancelFunc
	once   sync.Once
}

func (h *remote) Context() context.Context { return h.ctx }

func (h *remote) Token() uint64 { return h.token }

func (h *remote) grant(m Message) {
	h.token, h.access = m.Token, h.t.access()
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.t.granted(Lock{h.t.name, m.Token, m.Session})
	h.op.Granted(h, m.Session)
}

// finish records the end of the hold.
func (h *remote) finish(lost bool, why error) {
	h.once.Do(func() {
		if h.ctx == nil {
			return // it never held it
		}
		h.cancel()
		h.op.Releasing(why)
		h.op.Released(lost, nil, 0)
		h.t.over(lost)
	})
}
