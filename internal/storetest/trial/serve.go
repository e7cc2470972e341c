package trial

import (
	"context"
	"io"
	"net/rpc"
	"sync"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/storetest/register"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// Serve is the life of a process that holds for [InAnotherProcess]: it acquires
// what it is told to over conn, works under each lock until that is lost or it may let
// go, and returns when all is over. The client is left to the caller.
func Serve(ctx context.Context, conn io.ReadWriteCloser, c *coord.Client) error {
	desk := rpc.NewClient(conn)
	defer desk.Close()
	var what Assignment
	if err := desk.Call("Desk.Assign", 0, &what); err != nil {
		return err
	}
	p := &program{ctx: ctx, desk: desk, letGo: make(chan struct{})}
	s, err := c.Session(ctx)
	if err != nil {
		return err
	}
	spread := spreadOf(s.TTL(), what.Sessions)
	err = overSessions(ctx, c, len(what.Locks), what.Sessions, spread, func(s *coord.Session, i int, acquired func()) {
		p.holders.Go(func() { p.note(p.hold(mutex.New(c, what.Locks[i], coord.WithSession(s)), i, acquired)) })
	})
	p.note(err)
	p.note(desk.Call("Desk.Wait", 0, new(int)))
	close(p.letGo)
	p.holders.Wait()
	return p.err
}

// program is the process under way.
type program struct {
	ctx     context.Context
	desk    *rpc.Client
	letGo   chan struct{}
	holders sync.WaitGroup

	mu  sync.Mutex
	err error // the first
}

func (p *program) note(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
}

func (p *program) tell(what string, m Message) error {
	return p.desk.Call("Desk."+what, m, new(int))
}

// hold is a holder's life.
func (p *program) hold(m *mutex.Mutex, lock int, acquired func()) error {
	acquired = sync.OnceFunc(acquired)
	defer acquired()
	if err := p.tell("Calling", Message{Lock: lock}); err != nil {
		return err
	}
	held, err := m.Lock(p.ctx)
	if err != nil {
		return p.tell("Failed", Message{Lock: lock, Lost: coord.Lost(err), Why: err.Error()})
	}
	if err := p.tell("Granted", Message{Lock: lock, Token: held.Token(), Session: held.Session().ID()}); err != nil {
		return err
	}
	acquired()
	stop, working := make(chan struct{}), make(chan error, 1)
	go func() { working <- work(held, desktop{p, lock}, stop) }()
	select { // if both, Err knows
	case <-p.letGo:
	case <-held.Done():
	}
	over := Message{Lock: lock}
	if lost := held.Err(); lost != nil {
		over.Lost, over.Why = true, lost.Error()
		if err := p.tell("Over", over); err != nil {
			return err
		}
		select { // it goes on like a program that does not look, until it is refused
		case err := <-working:
			working <- err
		case <-p.letGo:
		}
	}
	close(stop)
	if err := <-working; err != nil || over.Lost {
		return err
	}
	if err := p.tell("Over", over); err != nil {
		return err
	}
	if err := held.Unlock(p.ctx); !coord.Lost(err) { // which nobody could know before
		return err
	}
	return nil
}

// desktop is a holder's way to the resource.
type desktop struct {
	*program
	lock int
}

func (d desktop) do(op register.Op) (register.Answer, int, error) {
	var r Reply
	err := d.desk.Call("Desk.Do", Message{Lock: d.lock, Op: op}, &r)
	return r.Answer, r.Entry, err
}

func (d desktop) held(entry int) error { return d.tell("Held", Message{Lock: d.lock, Entry: entry}) }
