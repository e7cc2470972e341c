package batch_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/drivers/internal/batch"
)

// store is a group whose requests are answered when the test says so.
type store struct {
	batch.Group[string]
	answer chan struct{}

	mu   sync.Mutex
	sent [][]string // in the order in which they were sent
}

func newStore(limit, most int) *store {
	s := &store{answer: make(chan struct{})}
	s.Limit, s.Most = limit, most
	s.Fits = func(with []string, r string) bool { return !slices.Contains(with, r) }
	s.Send = s.send
	return s
}

func (s *store) send(all []string) {
	s.mu.Lock()
	s.sent = append(s.sent, all)
	s.mu.Unlock()
	<-s.answer
}

func (s *store) do(ctx context.Context, r string) bool {
	return s.Do(ctx, r, func() { s.send([]string{r}) })
}

// start makes a request and returns when it is sent or waits.
func (s *store) start(r string) {
	go s.do(context.Background(), r)
	synctest.Wait()
}

// answers answers so many requests, one after the other.
func (s *store) answers(n int) {
	for range n {
		s.answer <- struct{}{}
		synctest.Wait()
	}
}

// sort sorts what was sent: at one time each goes when it gets the processor.
func (s *store) sort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortFunc(s.sent, slices.Compare)
}

func (s *store) want(t *testing.T, sent ...[]string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.EqualFunc(s.sent, sent, slices.Equal) {
		t.Errorf("sent %q, want %q", s.sent, sent)
	}
}

func TestWhoIsAloneIsSentAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(2, 9)
		s.start("a")
		s.start("b")
		s.want(t, []string{"a"}, []string{"b"})
		s.answers(2)
		s.start("c")
		s.want(t, []string{"a"}, []string{"b"}, []string{"c"})
		s.answers(1)
	})
}

func TestWhatComesMeanwhileIsSentTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(1, 3)
		for _, r := range []string{"a", "b", "c", "b", "d", "e"} {
			s.start(r)
		}
		s.want(t, []string{"a"})
		s.answers(1)
		s.want(t, []string{"a"}, []string{"b", "c", "d"})
		s.answers(1)
		s.want(t, []string{"a"}, []string{"b", "c", "d"}, []string{"b", "e"})
		s.answers(1)
		s.start("f")
		s.want(t, []string{"a"}, []string{"b", "c", "d"}, []string{"b", "e"}, []string{"f"})
		s.answers(1)
	})
}

func TestWhoLeavesIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(1, 9)
		s.start("a")
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan bool, 1)
		go func() { left <- s.do(ctx, "b") }()
		synctest.Wait()
		s.start("c")
		cancel()
		if <-left {
			t.Error("a request whose ctx ended before its turn is said to be sent")
		}
		s.answers(2)
		s.want(t, []string{"a"}, []string{"c"})
	})
}

func TestWhoHasWaitedForLongIsSentBeyondTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(1, 9)
		s.Patience = time.Second
		for _, r := range []string{"a", "b", "c"} {
			s.start(r)
			time.Sleep(s.Patience * 2 / 3) // by the test's own clock
		}
		s.want(t, []string{"a"}, []string{"b", "c"})
		s.start("d")
		s.answers(1) // there was one too many
		s.want(t, []string{"a"}, []string{"b", "c"})
		s.answers(1)
		s.want(t, []string{"a"}, []string{"b", "c"}, []string{"d"})
		s.answers(1)
		s.start("e")
		s.want(t, []string{"a"}, []string{"b", "c"}, []string{"d"}, []string{"e"})
		s.answers(1)
	})
}

// On a slow store sharing is worth more than ever: those who wait for long go
// together, too.
func TestWhoHasWaitedForLongShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(1, 3)
		s.Patience = time.Second
		for _, r := range []string{"a", "b", "c", "d", "e", "f"} {
			s.start(r)
		}
		time.Sleep(s.Patience) // by the test's own clock
		synctest.Wait()
		s.sort()
		s.want(t, []string{"a"}, []string{"b", "c", "d"}, []string{"e", "f"})
		s.answers(3)
		s.start("g")
		s.want(t, []string{"a"}, []string{"b", "c", "d"}, []string{"e", "f"}, []string{"g"})
		s.answers(1)
	})
}

func TestTheNextGoAlsoAfterAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(1, 9)
		go func() {
			defer func() { _ = recover() }()
			s.Do(t.Context(), "a", func() { <-s.answer; panic("a") })
		}()
		synctest.Wait()
		s.start("b")
		s.answers(2)
		s.want(t, []string{"b"})
	})
}

func TestCloseWaitsForWhatIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(1, 9)
		for _, r := range []string{"a", "b", "c"} {
			s.start(r)
		}
		s.answers(1) // b and c are under way
		s.start("d")
		s.start("e")
		closed := make(chan struct{})
		go func() {
			s.Close()
			close(closed)
		}()
		synctest.Wait()
		select {
		case <-closed:
			t.Fatal("Close returned while a shared request was under way")
		default:
		}
		s.answers(1)
		<-closed
		s.sort()
		s.want(t, []string{"a"}, []string{"b", "c"}, []string{"d"}, []string{"e"})
		s.answers(2)
	})
}

// Every request is sent once, whatever comes together, and no two that do not fit.
func TestCrowd(t *testing.T) {
	var mu sync.Mutex
	sent := make(map[string]int)
	g := &batch.Group[string]{Limit: 3, Most: 4,
		Fits: func(with []string, r string) bool { return !slices.Contains(with, r) }}
	record := func(all []string) {
		mu.Lock()
		defer mu.Unlock()
		for i, r := range all {
			if sent[r]++; slices.Contains(all[:i], r) {
				t.Errorf("%q shares with itself", r)
			}
		}
	}
	g.Send = record
	var wg sync.WaitGroup
	names := []string{"a", "b", "c", "d", "e"}
	const each = 500
	for range 20 {
		for _, r := range names {
			wg.Go(func() {
				for range each / 20 {
					g.Do(t.Context(), r, func() { record([]string{r}) })
				}
			})
		}
	}
	wg.Wait()
	g.Close()
	for _, r := range names {
		if sent[r] != each {
			t.Errorf("%q was sent %d times, want %d", r, sent[r], each)
		}
	}
}
