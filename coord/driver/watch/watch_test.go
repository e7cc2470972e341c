package watch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/sessions"
	"github.com/coordkit/coordkit/coord/driver/watch"
)

// store is a directory that can be changed, broken and refused.
type store struct {
	mu        sync.Mutex
	at        uint64
	nodes     []driver.Node
	changed   chan struct{} // closed, and replaced, at each change
	err       error         // of every Follow, from the next look on
	following int
	begun     int
}

func newStore() *store { return &store{changed: make(chan struct{})} }

// set replaces the nodes, which are given by their tokens.
func (s *store) set(tokens ...uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at++
	s.nodes = nil
	for _, token := range tokens {
		s.nodes = append(s.nodes, node(token))
	}
	s.tell()
}

func (s *store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	s.tell()
}

func (s *store) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *store) counts() (following, begun int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.following, s.begun
}

func (s *store) follow(ctx context.Context, _ string, show func(watch.List)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.following++
	s.begun++
	defer func() { s.following-- }()
	for s.err == nil {
		l, changed := watch.List{Nodes: s.nodes, At: s.at}, s.changed
		s.mu.Unlock()
		show(l)
		select {
		case <-changed:
		case <-ctx.Done():
		}
		s.mu.Lock()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return s.err
}

func node(token uint64) driver.Node {
	return driver.Node{Dir: "a", Key: fmt.Sprint("a/", token), Token: token, Seq: token, Version: token}
}

// start calls a test with a store whose history is at 10.
func start(t *testing.T, test func(*testing.T, *store, *watch.Hub, *sessions.Keeper)) {
	synctest.Test(t, func(t *testing.T) {
		s, k := newStore(), sessions.New("toy")
		s.at = 9
		test(t, s, watch.NewHub("toy", k, s.follow), k)
		k.Close(nil)
		if n, _ := s.counts(); n != 0 {
			t.Errorf("%d Follows are left", n)
		}
	})
}

type ending struct {
	gone int
	err  error
}

func wait(ctx context.Context, h *watch.Hub, nodes ...driver.Node) <-chan ending {
	ended := make(chan ending, 1)
	go func() {
		gone, err := h.Wait(ctx, nodes...)
		ended <- ending{gone, err}
	}()
	synctest.Wait()
	return ended
}

func wantPending(t *testing.T, ended <-chan ending) {
	t.Helper()
	synctest.Wait()
	select {
	case e := <-ended:
		t.Fatalf("the wait returned %d, %v", e.gone, e.err)
	default:
	}
}

func wantGone(t *testing.T, ended <-chan ending, gone int) {
	t.Helper()
	synctest.Wait()
	select {
	case e := <-ended:
		if e.err != nil || e.gone != gone {
			t.Fatalf("the wait returned %d, %v; want %d", e.gone, e.err, gone)
		}
	default:
		t.Fatal("the wait goes on")
	}
}

func TestWait(t *testing.T) {
	start(t, func(t *testing.T, s *store, h *watch.Hub, _ *sessions.Keeper) {
		s.set(1, 2, 3)
		one, other, any := wait(t.Context(), h, node(2)), wait(t.Context(), h, node(2)), wait(t.Context(), h, node(1), node(3))
		if _, begun := s.counts(); begun != 1 {
			t.Errorf("%d Follows for three waits in a directory", begun)
		}
		s.set(1, 2, 3, 4)
		wantPending(t, one)
		s.set(1, 3, 4)
		wantGone(t, one, 0)
		wantGone(t, other, 0)
		wantPending(t, any)
		wantGone(t, wait(t.Context(), h, node(2)), 0)
		s.set(1, 4)
		wantGone(t, any, 1)
		if n, _ := s.counts(); n != 0 {
			t.Errorf("%d Follows are left after the last wait", n)
		}
		wantGone(t, wait(t.Context(), h, node(4), node(3)), 1)
		if _, err := h.Wait(t.Context()); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("a wait for no nodes: %v", err)
		}
	})
}

// A list that is older than a node does not say that the node is gone.
func TestNodeNewerThanTheList(t *testing.T) {
	start(t, func(t *testing.T, s *store, h *watch.Hub, _ *sessions.Keeper) {
		s.set(1) // at 10
		before := wait(t.Context(), h, node(1))
		after := wait(t.Context(), h, node(11))
		wantPending(t, after)
		s.set(1, 11)
		wantPending(t, after)
		s.set(1)
		wantGone(t, after, 0)
		wantPending(t, before)
		s.set()
		wantGone(t, before, 0)
	})
}

// A broken Follow is begun again, after pauses that grow and are short again after a
// success. What happened meanwhile is told.
func TestHeals(t *testing.T) {
	start(t, func(t *testing.T, s *store, h *watch.Hub, _ *sessions.Keeper) {
		s.set(1)
		w := wait(t.Context(), h, node(1))
		for range 2 {
			_, before := s.counts()
			s.fail(&driver.Error{Kind: driver.ErrUnavailable})
			time.Sleep(time.Minute)
			wantPending(t, w)
			if _, begun := s.counts(); begun-before < 50 || begun-before > 150 {
				t.Errorf("begun %d times in a minute", begun-before)
			}
			s.fail(nil)
			time.Sleep(time.Second)
		}
		s.fail(&driver.Error{Kind: driver.ErrUnavailable})
		synctest.Wait()
		s.set()
		s.fail(nil)
		time.Sleep(10 * time.Millisecond)
		wantGone(t, w, 0)
	})
}

func TestWaitEnds(t *testing.T) {
	denied := &driver.Error{Store: "toy", Kind: driver.ErrDenied}
	start(t, func(t *testing.T, s *store, h *watch.Hub, k *sessions.Keeper) {
		s.set(1)
		ctx, cancel := context.WithCancel(t.Context())
		canceled, refused := wait(ctx, h, node(1)), wait(t.Context(), h, node(1))
		cancel()
		if e := <-canceled; !errors.Is(e.err, context.Canceled) {
			t.Errorf("canceled: %v", e.err)
		}
		s.fail(denied)
		if e := <-refused; e.err != denied {
			t.Errorf("refused: %v", e.err)
		}
		s.fail(nil)
		again := wait(t.Context(), h, node(1))
		wantPending(t, again)
		k.Close(nil)
		if e := <-again; e.err == nil {
			t.Error("nil after Close")
		}
		if e := <-wait(t.Context(), h, node(1)); !errors.Is(e.err, driver.ErrClosed) {
			t.Errorf("after Close: %v", e.err)
		}
	})
}

// shown is what a loop over Watch has seen.
type shown struct {
	mu    sync.Mutex
	lists [][]driver.Node
	err   error
}

func (s *shown) want(t *testing.T, err error, lists ...int) {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var lengths []int
	for _, l := range s.lists {
		lengths = append(lengths, len(l))
	}
	if fmt.Sprint(lengths) != fmt.Sprint(lists) || !errors.Is(s.err, err) {
		t.Fatalf("shown %v, and %v; want %v, and %v", lengths, s.err, lists, err)
	}
}

func loop(ctx context.Context, h *watch.Hub, busy time.Duration) *shown {
	s := new(shown)
	go func() {
		for l, err := range h.Watch(ctx, "a") {
			s.mu.Lock()
			if s.err = err; err == nil {
				s.lists = append(s.lists, l)
			}
			s.mu.Unlock()
			if err == nil {
				time.Sleep(busy)
			}
		}
	}()
	return s
}

func TestWatch(t *testing.T) {
	start(t, func(t *testing.T, s *store, h *watch.Hub, k *sessions.Keeper) {
		s.set(1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		quick, slow, canceled := loop(t.Context(), h, 0), loop(t.Context(), h, time.Second), loop(ctx, h, 0)
		quick.want(t, nil, 1)
		slow.want(t, nil, 1)
		canceled.want(t, nil, 1)
		cancel()
		canceled.want(t, context.Canceled, 1)
		s.set(1, 2)
		quick.want(t, nil, 1, 2)
		s.set(1, 2, 3)
		quick.want(t, nil, 1, 2, 3)
		time.Sleep(time.Second)
		slow.want(t, nil, 1, 3)
		k.Close(nil)
		quick.want(t, driver.ErrClosed, 1, 2, 3)
		loop(t.Context(), h, 0).want(t, driver.ErrClosed)
		loop(ctx, h, 0).want(t, context.Canceled)
		slow.want(t, nil, 1, 3)
		time.Sleep(time.Second)
		slow.want(t, driver.ErrClosed, 1, 3)
	})
	denied := &driver.Error{Store: "toy", Kind: driver.ErrDenied}
	start(t, func(t *testing.T, s *store, h *watch.Hub, _ *sessions.Keeper) {
		s.set(1)
		watching := loop(t.Context(), h, 0)
		watching.want(t, nil, 1)
		s.mu.Lock()
		s.at -= 5 // a server that lags behind
		s.mu.Unlock()
		s.set(1, 2, 3)
		watching.want(t, nil, 1)
		s.fail(denied)
		watching.want(t, denied, 1)
		for range h.Watch(t.Context(), "a") {
			break
		}
	})
}

// A driver that follows by itself is healed in the same way.
func TestHeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		passes, stays := &driver.Error{Kind: driver.ErrUnavailable}, &driver.Error{Kind: driver.ErrDenied}
		begun, shown := 0, 0
		follow := watch.Follow(func(_ context.Context, _ string, show func(watch.List)) error {
			if begun++; begun == 5 {
				return stays
			}
			show(watch.List{})
			return passes
		})
		if err := follow.Heal(t.Context(), "d", func(watch.List) { shown++ }); err != error(stays) || begun != 5 || shown != 4 {
			t.Errorf("%v after %d tries, which have shown %d lists; want %v after 5", err, begun, shown, stays)
		}
	})
}

// A loop is shown nothing more once its ctx has ended or the connection is closed, whatever is
// there to be shown.
func TestWatchShowsNothingAfterItsEnd(t *testing.T) {
	for name, want := range map[string]error{"ctx": context.Canceled, "connection": driver.ErrClosed} {
		t.Run(name, func(t *testing.T) {
			for range 20 { // of a select with several ready cases any may run
				start(t, func(t *testing.T, s *store, h *watch.Hub, k *sessions.Keeper) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					var got []error
					for _, err := range h.Watch(ctx, "d") {
						if got = append(got, err); len(got) > 1 {
							continue
						}
						s.set(1)
						synctest.Wait() // until it is there to be shown
						if name == "ctx" {
							cancel()
						} else {
							go k.Close(nil)
							synctest.Wait()
						}
					}
					if len(got) != 2 || !errors.Is(got[1], want) {
						t.Fatalf("the loop got %v; want a state, and then %v", got, want)
					}
				})
			}
		})
	}
}
