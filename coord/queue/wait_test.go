package queue_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/recipetest"
)

// sentry is a client whose requests for lists, and whose waits, are counted.
type sentry struct {
	*client
	looks  atomic.Int64 // lists of the line
	waits  atomic.Int64 // calls of WaitDelete and WaitAny
	waited atomic.Int64 // for how many nodes, the last time

	joined func() // is called, if it is not nil, before a CreateList returns

	// either, if it is not nil, is what a wait for either returns.
	either  func() (int, error)
	eithers atomic.Int64 // how often it was called
}

// sentry opens a client.
func (w *world) sentry() *sentry {
	s := &sentry{}
	p := w.ProcessOver(func(conn driver.Conn) driver.Conn { return sentryConn{conn, s} })
	s.client = &client{p, s.value(p), w}
	return s
}

// value is a value of the lock. Several of one name are one lock.
func (*sentry) value(p *recipetest.Process) *queue.Queue {
	return queue.New(p.Client, "line", "l", queue.OneByOne).ByNames(nil)
}

func (s *sentry) release(e *queue.Entry, h *coord.Hold) {
	s.w.Helper()
	s.w.OK(e.Release(s.w.Ctx, h))
}

// asked wants so many looks at the line since it was last called.
func (s *sentry) asked(what string, want int64) {
	s.w.Helper()
	if got := s.looks.Swap(0); got != want {
		s.w.Errorf("%s: %d looks at the line; want %d", what, got, want)
	}
}

// turn is one who waits.
type turn struct {
	*sentry
	cancel  context.CancelFunc
	entry   *queue.Entry
	outcome func() (error, bool)
}

// queueUp has a client wait behind all others.
func (s *sentry) queueUp() *turn {
	ctx, cancel := context.WithCancel(s.w.Ctx)
	t := &turn{sentry: s, cancel: cancel}
	t.outcome = s.w.begin(func() (err error) {
		t.entry, err = s.value(s.Process).Acquire(ctx, queue.Request{})
		return err
	})
	s.looks.Store(0)
	return t
}

func (t *turn) waits() {
	t.w.Helper()
	t.w.Settle()
	if err, over := t.outcome(); over {
		t.w.Fatalf("it waits no more: %v", err)
	}
}

func (t *turn) holds() {
	t.w.Helper()
	t.w.Settle()
	if err, over := t.outcome(); !over || err != nil {
		t.w.Fatalf("it should hold; over: %t, %v", over, err)
	}
}

type sentryConn struct {
	driver.Conn
	s *sentry
}

func (c sentryConn) Unwrap() any { return c.Conn }

func (c sentryConn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := c.Conn.OpenSession(ctx, ttl)
	return sentrySession{s, c.s}, err
}

type sentrySession struct {
	driver.Session
	s *sentry
}

func (s sentrySession) Unwrap() any { return s.Session }

func (s sentrySession) List(ctx context.Context, dir string) ([]driver.Node, error) {
	s.s.looks.Add(1)
	return s.Session.List(ctx, dir)
}

func (s sentrySession) CreateList(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
	n, all, err := s.Session.(driver.CreateLister).CreateList(ctx, dir, id, data)
	if s.s.joined != nil {
		s.s.joined()
	}
	return n, all, err
}

func (s sentrySession) WaitDelete(ctx context.Context, n driver.Node) error {
	s.s.waits.Add(1)
	s.s.waited.Store(1)
	return s.Session.WaitDelete(ctx, n)
}

func (s sentrySession) WaitAny(ctx context.Context, nodes []driver.Node) (int, error) {
	s.s.waits.Add(1)
	s.s.waited.Store(int64(len(nodes)))
	if s.s.either != nil && len(nodes) == 3 {
		s.s.eithers.Add(1)
		return s.s.either()
	}
	return s.Session.(driver.AnyWaiter).WaitAny(ctx, nodes)
}

// Who is next knows it before its turn comes, and then asks nothing.
func TestNextKnowsIt(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c, d := w.sentry(), w.sentry(), w.sentry(), w.sentry()
		e, h := a.acquire(queue.Request{})
		second, third, fourth := b.queueUp(), c.queueUp(), d.queueUp()
		a.release(e, h)
		second.holds()
		second.asked("the next, whom nobody else was ahead of", 0)
		third.waits()
		third.asked("the one who is next now", 1)
		fourth.waits()
		fourth.asked("the one behind", 0)
		w.OK(second.entry.Leave(w.Ctx))
		third.holds()
		third.asked("the next, when its turn has come", 0)
		fourth.asked("the one behind, who is next now", 1)
		w.OK(third.entry.Leave(w.Ctx))
		fourth.holds()
		fourth.asked("the last, when its turn has come", 0)
		w.OK(fourth.entry.Leave(w.Ctx))
	})
}

// Who is told that the one before its blocker has gone is not misled if that one has
// given up, nor if the blocker has.
func TestEntriesAheadGiveUp(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c, d := w.sentry(), w.sentry(), w.sentry(), w.sentry()
		e, h := a.acquire(queue.Request{})
		second, third, fourth := b.queueUp(), c.queueUp(), d.queueUp()
		second.cancel() // the blocker of the third, and before that of the fourth
		third.waits()
		fourth.waits()
		fifth := b.queueUp()
		fourth.cancel()
		third.waits()
		fifth.waits()
		a.release(e, h)
		third.holds()
		fifth.waits()
		w.OK(third.entry.Leave(w.Ctx))
		fifth.holds()
		w.OK(fifth.entry.Leave(w.Ctx))
	})
}

// Who is evicted, or loses its session, while it waits for either is told why, and is
// not granted by what goes ahead of it; those behind it are not misled.
func TestWaiterIsLost(t *testing.T) {
	for why, lose := range map[error]func(*world, driver.Node){
		coord.ErrRemoved:     func(w *world, n driver.Node) { w.Remove(n.Key) },
		coord.ErrSessionLost: func(w *world, n driver.Node) { w.Store.Expire(n.Session) },
	} {
		t.Run(why.Error(), func(t *testing.T) {
			bubble(t, func(w *world) {
				a, b, c, d := w.sentry(), w.sentry(), w.sentry(), w.sentry()
				e, h := a.acquire(queue.Request{})
				second, third, fourth := b.queueUp(), c.queueUp(), d.queueUp()
				lose(w, w.Nodes(4)[2])
				second.waits()
				fourth.waits()
				time.Sleep(ttl)
				err, over := third.outcome()
				if !over {
					t.Fatal("it still waits")
				}
				w.Is(err, why)
				a.release(e, h)
				second.holds()
				fourth.waits()
				w.OK(second.entry.Leave(w.Ctx))
				fourth.holds()
				w.OK(fourth.entry.Leave(w.Ctx))
			})
		})
	}
}

// A waiter whose own node is gone asks the store whether the session still lives. If the
// answer is lost, it asks again.
func TestWhyIsAskedAgain(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.sentry(), w.sentry(), w.sentry()
		e, h := a.acquire(queue.Request{})
		second := b.queueUp()
		c.either = func() (int, error) {
			s, err := c.Session(w.Ctx)
			w.OK(err)
			c.Link().DropNextReply(mem.OpAbandon)
			w.Store.Expire(s.ID())
			return 0, nil
		}
		third := c.queueUp()
		w.Settle()
		time.Sleep(20 * time.Millisecond) // for the second question
		err, over := third.outcome()
		if !over {
			t.Fatal("it still waits")
		}
		w.Is(err, coord.ErrSessionLost)
		a.release(e, h)
		second.holds()
		w.OK(second.entry.Leave(w.Ctx))
	})
}

// A waiter that queues behind an entry of its own session, before that entry's Create call
// has returned, needs no watch in the store to learn of the release.
func TestBlockerIsKnownLate(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.sentry()
		e, h := a.acquire(queue.Request{})
		held := make(chan struct{})
		a.joined = func() { <-held }
		second := a.queueUp()
		w.Settle()
		a.joined = nil
		third := a.queueUp()
		third.waits()
		before := a.waits.Load()
		close(held)
		second.waits()
		third.waits()
		a.release(e, h)
		second.holds()
		third.waits()
		w.OK(second.entry.Leave(w.Ctx))
		third.holds()
		third.asked("the last, which was told by its own process", 0)
		if n := a.waits.Load() - before; n != 0 {
			t.Errorf("%d waits were begun; want none", n)
		}
		w.OK(third.entry.Leave(w.Ctx))
	})
}

// A store that says of a node that it lists that it is gone is asked once, and not again
// and again, and is not believed.
func TestBeforeBlockerIsNotGone(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.sentry(), w.sentry(), w.sentry()
		c.either = func() (int, error) { return 2, nil }
		e, h := a.acquire(queue.Request{})
		second, third := b.queueUp(), c.queueUp()
		third.waits()
		if n := c.eithers.Load(); n != 1 {
			t.Errorf("it was asked %d times; want once", n)
		}
		a.release(e, h)
		second.holds()
		third.waits()
		w.OK(second.entry.Leave(w.Ctx))
		third.holds()
		w.OK(third.entry.Leave(w.Ctx))
	})
}

// An entry that is next waits for its own node and its blocker, and one farther back for
// the entry before its blocker as well.
func TestWaitsForThree(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.sentry()
		e, h := a.acquire(queue.Request{})
		var line []*turn
		for _, want := range []int64{2, 3, 3, 3} {
			c := w.sentry()
			turn := c.queueUp()
			turn.waits()
			if n := c.waited.Load(); n != want {
				t.Errorf("with %d ahead it waits for %d nodes; want %d", 1+len(line), n, want)
			}
			line = append(line, turn)
		}
		a.release(e, h)
		for _, turn := range line {
			turn.holds()
			w.OK(turn.entry.Leave(w.Ctx))
		}
	})
}

// Who waits for either when the whole line is removed is told so, and holds nothing.
func TestWaitersOfARemovedLine(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c, d := w.sentry(), w.sentry(), w.sentry(), w.sentry()
		_, h := a.acquire(queue.Request{})
		waiting := []*turn{b.queueUp(), c.queueUp(), d.queueUp()}
		time.Sleep(time.Second) // who holds is watched by then
		w.RemoveDir()
		w.Lost(h, coord.ErrRemoved)
		for _, turn := range waiting {
			err, over := turn.outcome()
			if !over {
				t.Fatal("a removed waiter still waits")
			}
			w.Is(err, coord.ErrRemoved)
		}
	})
}

// Who waits for either while its connection is away holds when its turn has come and
// the connection is back, and not before.
func TestWaiterIsCutOff(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.sentry(), w.sentry(), w.sentry()
		e, h := a.acquire(queue.Request{})
		second, third := b.queueUp(), c.queueUp()
		c.Link().Cut()
		a.release(e, h)
		second.holds()
		third.waits()
		w.OK(c.Link().Heal())
		third.waits()
		w.OK(second.entry.Leave(w.Ctx))
		third.holds()
		w.OK(third.entry.Leave(w.Ctx))
	})
}
