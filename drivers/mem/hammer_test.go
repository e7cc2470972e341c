package mem_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// again makes a call until the store has answered it.
func again(call func() error) (err error) {
	for {
		if err = call(); !driver.Transient(err) {
			return err
		}
		runtime.Gosched() // to whoever heals the link
	}
}

// locker enters a waiting line again and again on its own session, and checks
// that nobody else is at its head.
type locker struct {
	session driver.Session
	id      string
	inside  *sync.Mutex // TryLock fails if there are two holders
	last    *uint64     // the greatest token seen; guarded by inside
	errs    chan<- error
}

func (l locker) run(ctx context.Context, rounds int, r *rand.Rand) {
	for range rounds {
		if err := l.round(ctx, r); err != nil {
			l.errs <- err
			return
		}
	}
}

func (l locker) round(ctx context.Context, r *rand.Rand) error {
	s := l.session
	if r.IntN(4) == 0 { // begin with an attempt that is given up
		short, cancel := context.WithCancel(ctx)
		go cancel()
		_, err := s.Create(short, dir, l.id, nil)
		if err != nil || r.IntN(2) == 0 {
			if err := again(func() error { return s.Abandon(ctx, dir, l.id) }); err != nil {
				return err
			}
		}
	}
	var own driver.Node
	err := again(func() (err error) { own, err = s.Create(ctx, dir, l.id, nil); return err })
	for err == nil {
		var line []driver.Node
		err = again(func() (err error) { line, err = s.List(ctx, dir); return err })
		if err != nil {
			break
		}
		at := -1
		for i, n := range line {
			if n.Same(own) {
				at = i
			}
		}
		if at < 0 {
			return fmt.Errorf("%s is not in the line %v", own.Key, keys(line))
		}
		if at == 0 {
			break
		}
		if r.IntN(2) == 0 {
			err = s.WaitDelete(ctx, line[at-1])
		} else {
			_, err = s.(driver.AnyWaiter).WaitAny(ctx, line[:at])
		}
	}
	if err != nil {
		return err
	}
	if !l.inside.TryLock() {
		return fmt.Errorf("%s holds the lock and somebody else does", own.Key)
	}
	if own.Token <= *l.last {
		err = fmt.Errorf("token %d after %d", own.Token, *l.last)
	}
	*l.last = own.Token
	l.inside.Unlock()
	if err != nil {
		return err
	}
	return again(func() error { return s.Delete(ctx, own) })
}

// Many clients queue up while their links misbehave. Nobody gets in beside
// another, everybody gets in in the end, and nothing is left.
func TestHammer(t *testing.T) {
	const clients, rounds = 8, 60
	st := mem.NewStore()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // fails the test if somebody hangs
	defer cancel()
	var inside sync.Mutex
	var last uint64
	errs := make(chan error, 3*clients)
	stop := make(chan struct{})
	var lockers, vandals sync.WaitGroup
	var conns []*mem.Conn
	for i := range clients {
		c := st.Open(namespace)
		conns = append(conns, c)
		s, err := c.OpenSession(ctx, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for j := range 2 { // two lockers to a session
			lockers.Go(func() {
				l := locker{s, fmt.Sprint(j), &inside, &last, errs}
				l.run(ctx, rounds, rand.New(rand.NewPCG(uint64(i), uint64(j))))
			})
		}
		vandals.Go(func() { vandalize(c.Link(), stop, rand.New(rand.NewPCG(uint64(i), 9))) })
	}
	lockers.Wait()
	close(stop)
	vandals.Wait()
	select {
	case err := <-errs:
		t.Fatal(err)
	default:
	}
	if got := st.Stats(); got != (mem.Stats{Conns: clients, Sessions: clients}) {
		t.Errorf("left: %+v", got)
	}
	for _, c := range conns {
		_ = c.Close()
	}
}

// vandalize breaks and heals a link until stop is closed.
func vandalize(l *mem.Link, stop <-chan struct{}, r *rand.Rand) {
	var held []*mem.HeldRequest
	for {
		select {
		case <-stop:
			for _, h := range held {
				h.Release()
			}
			_ = l.Heal()
			return
		case <-time.After(time.Duration(r.IntN(300)) * time.Microsecond): // the pace of the faults
		}
		switch r.IntN(12) {
		case 0:
			l.Freeze(mem.Direction(1 + r.IntN(3)))
		case 1:
			l.Cut()
		case 2:
			l.DropConnections()
		case 3:
			l.Blackhole(mem.Direction(1 + r.IntN(3)))
		case 4:
			l.Delay(mem.Both, time.Duration(r.IntN(100))*time.Microsecond)
		case 5:
			l.DropNextReply()
		case 6:
			l.LoseNextRequest()
		case 7:
			held = append(held, l.Hold(mem.OpCreate, mem.OpAbandon, mem.OpDelete))
		default:
			for _, h := range held {
				h.Release()
			}
			held = nil
			_ = l.Heal()
		}
	}
}

// Sessions come and go while others look on.
func TestHammerSessions(t *testing.T) {
	st := mem.NewStore()
	ctx := context.Background()
	observer := st.Open(namespace)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			c := st.Open(namespace)
			defer c.Close()
			for i := range 100 {
				s, err := c.OpenSession(ctx, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				n, err := s.Create(ctx, dir, "0", nil)
				if err != nil {
					t.Error(err)
					return
				}
				wg.Go(func() {
					if err := s.WaitDelete(ctx, n); err == nil {
						t.Error("a session outlived its node")
					}
				})
				if line, err := observer.List(ctx, dir); err != nil || len(line) == 0 {
					t.Errorf("%v, %v", keys(line), err)
				}
				if i%2 == 0 {
					st.Expire(s.ID())
				}
				if err := s.Close(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := st.Stats(); got != (mem.Stats{Conns: 1}) {
		t.Errorf("left: %+v", got)
	}
	_ = observer.Close()
}

// A connection is closed while sessions are being opened on it and used.
func TestHammerClose(t *testing.T) {
	st := mem.NewStore()
	ctx := context.Background()
	for range 200 {
		c := st.Open(namespace)
		opened := make(chan struct{}, 1)
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				var err error
				for err == nil {
					var s driver.Session
					if s, err = c.OpenSession(ctx, time.Minute); err == nil {
						_, err = s.Create(ctx, dir, fmt.Sprint(i), nil)
					}
					select {
					case opened <- struct{}{}:
					default: // one is enough
					}
				}
				if !errors.Is(err, driver.ErrClosed) {
					t.Errorf("it ended with %v; want ErrClosed", err)
				}
			})
		}
		<-opened
		_ = c.Close()
		wg.Wait()
		if got := st.Stats(); got != (mem.Stats{}) {
			t.Fatalf("left: %+v", got)
		}
	}
}
