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
)

func TestProclaimIsSeenByEverybody(t *testing.T) {
	bubble(t, func(w *world) {
		crowd := w.crowd()
		witness := w.client().observe(w.ctx)
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
				fail(a.conn.Link())
				fail(a.conn.Link())
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
		observer := w.client().observe(w.ctx)
		l := a.elect("0")
		w.patience()
		late := a.conn.Link().Hold(mem.OpUpdate)
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		w.is(l.Proclaim(ctx, []byte("1")), context.DeadlineExceeded)
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
		late := a.conn.Link().Hold(mem.OpUpdate)
		first, second := make(chan error), make(chan error)
		go func() { first <- l.Proclaim(w.ctx, []byte("1")) }()
		<-late.Caught()
		go func() { second <- l.Proclaim(w.ctx, []byte("2")) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		w.is(l.Proclaim(ctx, []byte("3")), context.DeadlineExceeded) // while it waits for its turn
		late.Release()
		w.ok(<-first)
		w.ok(<-second)
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
				if err := l.Proclaim(w.ctx, fmt.Append(nil, i)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		c, err := w.client().election().Leader(w.ctx)
		w.ok(err)
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
		late := a.conn.Link().Hold(mem.OpUpdate)
		result := make(chan error)
		go func() { result <- first.Proclaim(w.ctx, []byte("stale")) }()
		<-late.Caught()
		start := time.Now()
		w.resign(first)
		w.is(<-result, coord.ErrNotHeld, coord.ErrReleased)
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
			a.conn.Link().LoseNextRequest(mem.OpDelete)
		}
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		w.is(l.Resign(ctx), context.DeadlineExceeded)
		w.is(l.Proclaim(w.ctx, []byte("new")), coord.ErrReleased)
		w.leader("old")
		w.ok(a.conn.Link().Heal())
		w.resign(l)
		w.nodes(0)
	})
}

// Who knows that it leads no more does not ask the store.
func TestProclaimAfterTheEnd(t *testing.T) {
	bubbleOver(t, false, func(w *world) {
		conn := w.store.Open(namespace)
		counted := &counter{Conn: conn}
		l := w.clientOn(conn, counted).elect("v")
		w.resign(l)
		counted.n.Store(0)
		for range 20 {
			w.is(l.Proclaim(w.ctx, nil), coord.ErrNotHeld, coord.ErrReleased)
		}
		counted.want(t, "proclaiming when it is over", 0)
	})
}

func TestProclaimRacesLoss(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		first := a.elect("first")
		next := b.campaigning(w.ctx, "second")
		crowd := w.crowd()
		late := a.conn.Link().Hold(mem.OpUpdate)
		result := make(chan error)
		go func() { result <- first.Proclaim(w.ctx, []byte("stale")) }()
		<-late.Caught()
		a.conn.Link().Cut()
		w.is(<-result, coord.ErrNotHeld, coord.ErrSessionLost)
		<-next.over
		second := next.elected()
		late.Release()
		w.leader("second")
		crowd.agree("first - second")
		w.ok(a.conn.Link().Heal())
		w.resign(second)
	})
}

// The entry is gone, and its leader has not been told yet.
func TestProclaimWithoutAnEntry(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		l := a.elect("v")
		w.store.Remove(namespace, line, w.nodes(1)[0].Key)
		w.is(l.Proclaim(w.ctx, []byte("w")), coord.ErrNotHeld, coord.ErrRemoved)
		w.nodes(0)
		time.Sleep(time.Second)
		w.lost(l, coord.ErrRemoved)
		w.is(l.Resign(w.ctx), coord.ErrRemoved)
	})
}

func TestProclaimAndResignEndWithTheirContext(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		l := a.elect("v")
		a.conn.Link().Freeze(mem.Both)
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
			ctx, cancel := context.WithTimeout(w.ctx, time.Second)
			start := time.Now()
			if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > time.Second {
				t.Errorf("%s under a ctx of a second: %v after %v", name, err, time.Since(start))
			}
			cancel()
		}
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		w.is(l.Resign(ctx), context.DeadlineExceeded)
		w.ok(a.conn.Link().Heal())
		w.resign(l)
		time.Sleep(ttl)
		w.nodes(0)
	})
}
