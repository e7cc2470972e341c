package election_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/recipetest"
)

func TestProclaimIsSeenByEverybody(t *testing.T) {
	bubble(t, func(w *world) {
		crowd := w.crowd()
		witness := w.client().observe(w.Ctx)
		l := w.client().elect("0")
		want := "- 0"
		for i := range 3 {
			w.patience()
			w.proclaim(l, fmt.Sprint(i+1))
			w.proclaim(l, fmt.Sprint(i+1)) // nothing new
			want += fmt.Sprint(" ", i+1)
			w.leader(fmt.Sprint(i + 1))
		}
		witness.shows(want)
		crowd.agree(want)
		w.resign(l)
		witness.shows(want + " -")
	})
}

// What fails on the way is tried again, and the value is written once it counts.
func TestProclaimOutlivesFailures(t *testing.T) {
	for name, fail := range map[string]func(*mem.Link){
		"request lost": func(l *mem.Link) { l.LoseNextRequest(mem.OpUpdate) },
		"reply lost":   func(l *mem.Link) { l.DropNextReply(mem.OpUpdate) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a := w.client()
				l := a.elect("old")
				fail(a.Link())
				fail(a.Link())
				w.proclaim(l, "new")
				w.leader("new")
				w.resign(l)
			})
		})
	}
}

// A value that was given up, and is proclaimed again or replaced, does not come
// back when its first request lands at last.
func TestLateProclaimUndoesNoLaterOne(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		observer := w.client().observe(w.Ctx)
		l := a.elect("0")
		w.patience()
		late := a.Link().Hold(mem.OpUpdate)
		ctx, cancel := context.WithTimeout(w.Ctx, time.Second)
		defer cancel()
		w.Is(l.Proclaim(ctx, []byte("1")), context.DeadlineExceeded)
		w.proclaim(l, "1")
		w.patience()
		w.proclaim(l, "2")
		late.Release()
		w.leader("2")
		observer.shows("- 0 1 2")
	})
}

// The first is still being tried when the next begins.
func TestProclaimsTakeTurns(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		l := a.elect("0")
		late := a.Link().Hold(mem.OpUpdate)
		first, second := make(chan error), make(chan error)
		go func() { first <- l.Proclaim(w.Ctx, []byte("1")) }()
		<-late.Caught()
		go func() { second <- l.Proclaim(w.Ctx, []byte("2")) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(w.Ctx, time.Second)
		defer cancel()
		w.Is(l.Proclaim(ctx, []byte("3")), context.DeadlineExceeded) // while it waits for its turn
		late.Release()
		w.OK(<-first)
		w.OK(<-second)
		w.leader("2")
		w.resign(l)
	})
}

func TestProclaimFromManyGoroutines(t *testing.T) {
	bubble(t, func(w *world) {
		crowd := w.crowd()
		l := w.client().elect("")
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				if err := l.Proclaim(w.Ctx, fmt.Append(nil, i)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		c, err := w.client().election().Leader(w.Ctx)
		w.OK(err)
		crowd.agree(string(c.Value))
		w.resign(l)
	})
}

// A value whose leader has resigned changes nothing, neither in the store nor
// for the next leader, who may even stand in the same slot.
func TestProclaimRacesResign(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		crowd := w.crowd()
		first := a.elect("first")
		late := a.Link().Hold(mem.OpUpdate)
		result := make(chan error)
		go func() { result <- first.Proclaim(w.Ctx, []byte("stale")) }()
		<-late.Caught()
		start := time.Now()
		w.resign(first)
		w.Is(<-result, coord.ErrNotHeld, coord.ErrReleased)
		if d := time.Since(start); d > 0 {
			t.Errorf("Proclaim returned %v after the leadership's end", d)
		}
		second := a.elect("second")
		late.Release()
		w.leader("second")
		w.lost(first, coord.ErrReleased)
		w.leader("second")
		w.proclaim(second, "third")
		crowd.agree("third")
		w.resign(second)
	})
}

// With the store out of reach nobody is there to delete the entry. All the same
// nothing is proclaimed once Resign was called.
func TestProclaimAfterAnUnconfirmedResign(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		l := a.elect("old")
		for range 50 { // or the deleting in the background gets through
			a.Link().LoseNextRequest(mem.OpDelete)
		}
		ctx, cancel := context.WithTimeout(w.Ctx, time.Second)
		defer cancel()
		w.Is(l.Resign(ctx), context.DeadlineExceeded)
		w.Is(l.Proclaim(w.Ctx, []byte("new")), coord.ErrReleased)
		w.leader("old")
		w.OK(a.Link().Heal())
		w.resign(l)
		w.Nodes(0)
	})
}

// Who knows that it leads no more does not ask the store.
func TestProclaimAfterTheEnd(t *testing.T) {
	bubbleOver(t, false, func(w *world) {
		var n recipetest.Counter
		l := w.counted(&n).elect("v")
		w.resign(l)
		n.Next()
		for range 20 {
			w.Is(l.Proclaim(w.Ctx, nil), coord.ErrNotHeld, coord.ErrReleased)
		}
		n.Want(t, "proclaiming when it is over", recipetest.Counts{})
	})
}

func TestProclaimRacesLoss(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		first := a.elect("first")
		next := b.campaigning(w.Ctx, "second")
		crowd := w.crowd()
		late := a.Link().Hold(mem.OpUpdate)
		result := make(chan error)
		go func() { result <- first.Proclaim(w.Ctx, []byte("stale")) }()
		<-late.Caught()
		a.Link().Cut()
		w.Is(<-result, coord.ErrNotHeld, coord.ErrSessionLost)
		<-next.Over
		second := next.Granted()
		late.Release()
		w.leader("second")
		crowd.agree("first - second")
		w.OK(a.Link().Heal())
		w.resign(second)
	})
}

// The entry is gone, and its leader has not been told yet.
func TestProclaimWithoutAnEntry(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		l := a.elect("v")
		w.Remove(w.Nodes(1)[0].Key)
		w.Is(l.Proclaim(w.Ctx, []byte("w")), coord.ErrNotHeld, coord.ErrRemoved)
		w.Nodes(0)
		time.Sleep(time.Second)
		w.lost(l, coord.ErrRemoved)
		w.Is(l.Resign(w.Ctx), coord.ErrRemoved)
	})
}

func TestProclaimAndResignEndWithTheirContext(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		l := a.elect("v")
		a.Link().Freeze(mem.Both)
		for name, call := range map[string]func(context.Context) error{
			"Proclaim": func(ctx context.Context) error { return l.Proclaim(ctx, nil) },
			"Leader":   func(ctx context.Context) error { _, err := a.election().Leader(ctx); return err },
			"Campaign": func(ctx context.Context) error { _, err := a.election().Campaign(ctx, nil); return err },
			"Revoked":  func(ctx context.Context) error { _, err := l.Revoked(ctx); return err },
			"Observe": func(ctx context.Context) (err error) {
				for _, err = range a.election().Observe(ctx) {
				}
				return err
			},
		} {
			ctx, cancel := context.WithTimeout(w.Ctx, time.Second)
			start := time.Now()
			if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > time.Second {
				t.Errorf("%s under a ctx of a second: %v after %v", name, err, time.Since(start))
			}
			cancel()
		}
		ctx, cancel := context.WithTimeout(w.Ctx, time.Second)
		defer cancel()
		w.Is(l.Resign(ctx), context.DeadlineExceeded)
		w.OK(a.Link().Heal())
		w.resign(l)
		time.Sleep(ttl)
		w.Nodes(0)
	})
}
