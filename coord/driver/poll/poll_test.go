package poll_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/poll"
	"github.com/coordkit/coordkit/coord/driver/sessions"
	"github.com/coordkit/coordkit/coord/driver/watch"
)

// store holds nodes by their tokens, and one stamp for all directories.
type store struct {
	mu    sync.Mutex
	there map[uint64]bool
	stamp int
	due   time.Time // of all nodes; zero: never
	err   error
	looks int
	asked poll.Question // by the last look
	reaps int

	locked bool // reaping does nothing
}

func (s *store) look(_ context.Context, q poll.Question) (a poll.Answer, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	s.asked = q
	if s.err != nil {
		return a, s.err
	}
	for i, n := range q.Nodes {
		if !s.there[n.Token] {
			a.Gone = append(a.Gone, i)
		}
	}
	for range q.Dirs {
		a.Stamps = append(a.Stamps, fmt.Sprint(s.stamp))
	}
	if !s.due.IsZero() {
		a.Next = time.Until(s.due)
		a.Expired = a.Next <= 0
	}
	return a, nil
}

func (s *store) reap(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reaps++
	if s.locked {
		return nil
	}
	clear(s.there)
	s.due = time.Time{}
	return nil
}

func (s *store) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *store) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looks
}

func node(token uint64) driver.Node {
	return driver.Node{Dir: "a", Key: fmt.Sprint("a/", token), Token: token}
}

// world runs a test in virtual time, with nodes of the tokens 1 to 9.
func world(t *testing.T, f func(t *testing.T, s *store, p *poll.Poll, k *sessions.Keeper)) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{there: make(map[uint64]bool)}
		for token := range uint64(9) {
			s.there[token+1] = true
		}
		k := sessions.New("toy")
		p := poll.New(poll.Config{Store: "toy", Keeper: k, Look: s.look, Reap: s.reap})
		f(t, s, p, k)
		k.Close(nil)
	})
}

// outcome is what a wait has returned.
type outcome struct {
	gone int
	err  error
	at   time.Time
}

func begin(t *testing.T, p *poll.Poll, nodes ...driver.Node) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		gone, err := p.Wait(t.Context(), nodes...)
		done <- outcome{gone, err, time.Now()}
	}()
	synctest.Wait()
	return done
}

func pending(t *testing.T, done <-chan outcome) {
	t.Helper()
	synctest.Wait()
	select {
	case o := <-done:
		t.Fatalf("the wait has ended: %+v", o)
	default:
	}
}

func TestWaitEndsWhenANodeIsGone(t *testing.T) {
	world(t, func(t *testing.T, s *store, p *poll.Poll, _ *sessions.Keeper) {
		if o := <-begin(t, p, node(77)); o.err != nil {
			t.Errorf("a node that is gone already: %v", o.err)
		}
		done := begin(t, p, node(1), node(2), node(3))
		time.Sleep(80 * time.Millisecond)
		pending(t, done)
		s.change(func() { delete(s.there, 2) })
		gone := time.Now()
		o := <-done
		if o.err != nil || o.gone != 1 {
			t.Errorf("%+v; want the second node", o)
		}
		if late := o.at.Sub(gone); late > 11*time.Millisecond {
			t.Errorf("told %v late; want an eighth of 80 ms at the most", late)
		}
		if _, err := p.Wait(t.Context()); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("a wait for nothing: %v", err)
		}
	})
}

// A thousand waits that nothing happens to cost ten looks a second, and none when they
// have ended.
func TestIdleWaitsShareTheLooks(t *testing.T) {
	world(t, func(t *testing.T, s *store, p *poll.Poll, _ *sessions.Keeper) {
		ctx, cancel := context.WithCancel(t.Context())
		var waits sync.WaitGroup
		for range 1000 {
			waits.Go(func() {
				if _, err := p.Wait(ctx, node(1), node(2)); !errors.Is(err, context.Canceled) {
					t.Errorf("want %v, got %v", context.Canceled, err)
				}
			})
		}
		time.Sleep(time.Second)
		before := s.count()
		time.Sleep(time.Minute)
		if n := s.count() - before; n < 590 || n > 610 {
			t.Errorf("%d looks in a minute; want 600", n)
		}
		s.change(func() {
			if len(s.asked.Nodes) != 2 {
				t.Errorf("asked for %d nodes; want each once", len(s.asked.Nodes))
			}
		})
		p.Relax(time.Second)
		time.Sleep(time.Second)
		before = s.count()
		time.Sleep(time.Minute)
		if n := s.count() - before; n < 59 || n > 61 {
			t.Errorf("%d looks in a minute; want 60", n)
		}
		cancel()
		waits.Wait()
		time.Sleep(2 * time.Second)
		before = s.count()
		time.Sleep(time.Minute)
		if n := s.count() - before; n > 0 {
			t.Errorf("%d looks that nobody waits for", n)
		}
	})
}

// A wait looks when the session that it waits for is due, and not a pause later.
func TestLooksWhenASessionIsDue(t *testing.T) {
	world(t, func(t *testing.T, s *store, p *poll.Poll, _ *sessions.Keeper) {
		p.Relax(time.Hour)
		due := time.Now().Add(time.Minute)
		s.change(func() { s.due = due })
		o := <-begin(t, p, node(1))
		if late := o.at.Sub(due); o.err != nil || late < 0 || late > 5*time.Millisecond || s.reaps != 1 {
			t.Errorf("%+v, %v after it was due, with %d reaps; want one reap at once", o, late, s.reaps)
		}
	})
}

// A session that is due and cannot be deleted is no reason to look all the time.
func TestExpiredAndLocked(t *testing.T) {
	world(t, func(t *testing.T, s *store, p *poll.Poll, _ *sessions.Keeper) {
		s.change(func() { s.due, s.locked = time.Now(), true })
		done := begin(t, p, node(1))
		time.Sleep(time.Second)
		before := s.count()
		time.Sleep(time.Minute)
		if n := s.count() - before; n > 610 {
			t.Errorf("%d looks in a minute; want 600", n)
		}
		s.change(func() { s.locked = false })
		if o := <-done; o.err != nil {
			t.Error(o.err)
		}
	})
}

func TestChanged(t *testing.T) {
	world(t, func(t *testing.T, s *store, p *poll.Poll, _ *sessions.Keeper) {
		if err := p.Changed(t.Context(), "a", "another"); err != nil {
			t.Errorf("another stamp: %v", err)
		}
		done := make(chan error, 1)
		go func() { done <- p.Changed(t.Context(), "a", "0") }()
		time.Sleep(time.Minute)
		select {
		case err := <-done:
			t.Fatalf("nothing has changed: %v", err)
		default:
		}
		s.change(func() { s.stamp++ })
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A watch shows the directory at once, and again after each change.
func TestFollow(t *testing.T) {
	world(t, func(t *testing.T, s *store, p *poll.Poll, k *sessions.Keeper) {
		hub := watch.NewHub("toy", k, p.Follow(func(context.Context, string) ([]driver.Node, string, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return make([]driver.Node, len(s.there)), fmt.Sprint(s.stamp), nil
		}))
		want := 9
		for nodes, err := range hub.Watch(t.Context(), "a") {
			if err != nil || len(nodes) != want {
				t.Errorf("%d nodes, %v; want %d", len(nodes), err, want)
			}
			if want == 6 {
				break
			}
			want--
			s.change(func() { delete(s.there, uint64(want)); s.stamp++ })
		}
	})
}

// What the store tells by itself ends a wait without a look.
func TestGoneAndSoon(t *testing.T) {
	world(t, func(t *testing.T, s *store, p *poll.Poll, _ *sessions.Keeper) {
		p.Relax(time.Hour)
		first, second := begin(t, p, node(1)), begin(t, p, node(2), node(3))
		time.Sleep(time.Minute)
		before := s.count()
		p.Gone(func(n driver.Node) bool { return n.Token == 3 })
		if o := <-second; o.gone != 1 || o.err != nil || s.count() != before {
			t.Errorf("%+v after %d looks; want the second node, and none", o, s.count()-before)
		}
		pending(t, first)
		s.change(func() { delete(s.there, 1) })
		said := time.Now()
		p.Soon()
		if o := <-first; o.err != nil || o.at.Sub(said) > 3*time.Millisecond {
			t.Errorf("%+v, %v later; want it soon", o, o.at.Sub(said))
		}
	})
}

// A store that tells of deletions tells of no creations and updates. So while a directory is
// watched the looks stay as frequent as ever.
func TestWatchesAreNotRelaxed(t *testing.T) {
	world(t, func(t *testing.T, s *store, p *poll.Poll, _ *sessions.Keeper) {
		p.Relax(time.Hour)
		changed := make(chan time.Time, 1)
		go func() {
			if err := p.Changed(t.Context(), "d", "0"); err != nil {
				t.Error(err)
			}
			changed <- time.Now()
		}()
		time.Sleep(time.Minute)
		at := time.Now()
		s.change(func() { s.stamp++ })
		if late := (<-changed).Sub(at); late > 100*time.Millisecond {
			t.Errorf("told after %v; want 100 ms at the latest", late)
		}
	})
}

// While the store does not answer, the looks become rare. When it does again the wait goes
// on. What it refuses ends the wait.
func TestErrors(t *testing.T) {
	world(t, func(t *testing.T, s *store, p *poll.Poll, _ *sessions.Keeper) {
		down := &driver.Error{Kind: driver.ErrUnavailable}
		s.change(func() { s.err = down })
		done := begin(t, p, node(1))
		time.Sleep(10 * time.Second)
		before := s.count()
		time.Sleep(time.Minute)
		if n := s.count() - before; n < 60 || n > 121 {
			t.Errorf("%d looks in a minute; want one or two for each second", n)
		}
		pending(t, done)
		s.change(func() { s.err = nil; delete(s.there, 1) })
		if o := <-done; o.err != nil {
			t.Errorf("after the store is back: %v", o.err)
		}
		s.change(func() { s.err = &driver.Error{Kind: driver.ErrDenied} })
		if o := <-begin(t, p, node(2)); !errors.Is(o.err, driver.ErrDenied) {
			t.Errorf("refused: %v", o.err)
		}
	})
}

func TestClosed(t *testing.T) {
	world(t, func(t *testing.T, s *store, p *poll.Poll, k *sessions.Keeper) {
		done := begin(t, p, node(1))
		k.Close(nil)
		if o := <-done; !errors.Is(o.err, driver.ErrClosed) {
			t.Errorf("a wait under way: %v", o.err)
		}
		if _, err := p.Wait(t.Context(), node(1)); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("a wait after the end: %v", err)
		}
	})
}
