package work_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/peers"
	"github.com/coordkit/coordkit/bench/work"
)

var quick = work.Length{Warm: time.Millisecond, Measured: 200 * time.Millisecond, Most: 10 * time.Second,
	Linger: 10 * time.Second, Waiters: 120, Worn: 100, Changes: 3}

// embedded is a turn of coordkit's on a store of its own.
func embedded(name string) work.Turn {
	return work.Turn{Side: peers.Embedded()[0], Dial: contest.Dial{Servers: []string{name}, TTL: work.TTL},
		Servers: []string{name}, Key: "key", Length: quick}
}

func Example() {
	turn := embedded("example")
	sample, err := work.Contention(4).Run(context.Background(), turn)
	fmt.Println(sample.Ops > 0, sample.Violations, err)
	// Output: true 0 <nil>
}

// Every case runs on the embedded store, but for the one that needs a process to
// kill.
func TestCasesOnTheEmbeddedStore(t *testing.T) {
	turn := embedded("smoke")
	keeper, err := turn.Side.Open(t.Context(), turn.Dial)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range work.Cases(time.Second) {
		if c.Name == "failover" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			turn := turn
			turn.Key = c.Name
			counted := int64(0)
			turn.Counted = func() (int64, int64, error) {
				counted++
				return counted, counted, nil
			}
			synced := int64(0)
			turn.Synced = func(context.Context) (int64, error) {
				synced += 3
				return synced, nil
			}
			s, err := c.Run(t.Context(), turn)
			if err != nil {
				t.Fatal(err)
			}
			if c.Kind == contest.Permits {
				s.Violations = 0 // which the clock tells: by that, who was not scheduled was overtaken
			}
			if s.Ops == 0 || s.Partial || s.Violations > 0 || c.Figure(s) <= 0 {
				t.Errorf("%d operations, partial: %v, %d out of order, the figure is %v", s.Ops, s.Partial, s.Violations, c.Figure(s))
			}
			if c.Counts && (s.Cost == nil || s.Cost.Requests*float64(s.Ops) < 0.999) {
				t.Errorf("its cost is %+v", s.Cost)
			}
			if syncs := s.Syncs * float64(s.Ops); c.Counts && (syncs < 2.999 || syncs > 3.001) {
				t.Errorf("%v syncs in all; want 3", syncs)
			}
			if c.Foreign.Name == "drain" && (s.Ops != turn.Waiters || s.Waiting == nil || s.Waiting.Waiters != turn.Waiters) {
				t.Errorf("%d were served, waiting is %+v", s.Ops, s.Waiting)
			}
		})
	}
	if err := keeper.Close(); err != nil {
		t.Error(err)
	}
}

// A lock that does not exclude is found out.
func TestNoLock(t *testing.T) {
	for _, n := range []int{2, 3} {
		_, err := work.Contention(n).Run(t.Context(), work.Turn{Side: fake(func(context.Context) error { return nil }),
			Dial: contest.Dial{Servers: []string{"none"}}, Length: quick})
		if err == nil || !strings.Contains(err.Error(), "more hold the lock than may") {
			t.Errorf("of %d, the error is %v", n, err)
		}
	}
}

// A turn whose servers never answer comes to its end.
func TestLongest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		side := contest.Side{Name: "deaf", Kinds: []contest.Kind{contest.Locks},
			Open: func(ctx context.Context, _ contest.Dial) (contest.Program, error) {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}}
		_, err := work.Uncontended().Run(t.Context(), work.Turn{Side: side, Dial: contest.Dial{Servers: []string{"none"}}, Length: quick})
		if err == nil || !strings.Contains(err.Error(), "took longer than 20m") {
			t.Errorf("the error is %v", err)
		}
	})
}

// One who never gets the lock does not hold up the turn.
func TestStarved(t *testing.T) {
	length := quick
	length.Linger = 50 * time.Millisecond
	var mu sync.Mutex
	lucky := true
	side := fake(func(ctx context.Context) error {
		mu.Lock()
		first := lucky
		lucky = false
		mu.Unlock()
		if first {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	})
	s, err := work.Contention(2).Run(t.Context(), work.Turn{Side: side, Dial: contest.Dial{Servers: []string{"none"}}, Length: length})
	if err != nil || !s.Partial || s.Note == "" {
		t.Errorf("partial: %v, note %q, error %v", s.Partial, s.Note, err)
	}
}

func TestFailureEndsATurn(t *testing.T) {
	broken := errors.New("broken")
	_, err := work.Uncontended().Run(t.Context(), work.Turn{Side: fake(func(context.Context) error { return broken }),
		Dial: contest.Dial{Servers: []string{"none"}}, Length: quick})
	if !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
}

// fake is a side whose Lock is as given.
func fake(lock func(context.Context) error) contest.Side {
	return contest.Side{Name: "fake", Kinds: []contest.Kind{contest.Locks},
		Open: func(context.Context, contest.Dial) (contest.Program, error) { return fakeProgram(lock), nil }}
}

type fakeProgram func(context.Context) error

func (f fakeProgram) Locker(context.Context, string) (contest.Locker, error) { return f, nil }
func (fakeProgram) Close() error                                             { return nil }
func (f fakeProgram) Lock(ctx context.Context) error                         { return f(ctx) }
func (fakeProgram) Unlock(context.Context) error                             { return nil }
