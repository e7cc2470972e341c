package semaphore_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

// A lost holder's permits return, all of them and not before it was told.
func TestLossIsToldBeforeThePermitsReturn(t *testing.T) {
	for name, cut := range map[string]func(*mem.Link){
		"frozen both ways": func(l *mem.Link) { l.Freeze(mem.Both) },
		"frozen up":        func(l *mem.Link) { l.Freeze(mem.Up) },
		"frozen down":      func(l *mem.Link) { l.Freeze(mem.Down) },
		"black hole":       func(l *mem.Link) { l.Blackhole(mem.Both) },
		"refused":          func(l *mem.Link) { l.Cut() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a, b := w.client(), w.client()
				lost, kept := a.acquire(3, 4), b.acquire(1, 4)
				next := b.acquiring(w.Ctx, 3, 4)
				blocked(next)
				cut(a.Link())
				told := make(chan time.Time, 1)
				stop := context.AfterFunc(lost.Context(), func() { told <- time.Now() })
				defer stop()
				<-next.Over
				if at := <-told; next.Err != nil || next.At.Before(at) {
					t.Fatalf("granted at %v, %v; the holder was told at %v", next.At, next.Err, at)
				}
				w.Lost(lost, coord.ErrSessionLost)
				w.Is(lost.Release(w.Ctx), coord.ErrSessionLost)
				w.Holds(kept, next.Held)
				if err := a.Link().Heal(); err != nil {
					t.Fatal(err)
				}
				w.release(kept, next.Held)
				w.release(a.acquire(4, 4)) // with a new session
			})
		})
	}
}

func TestRemovedEntriesAreTold(t *testing.T) {
	bubble(t, func(w *world) {
		for _, others := range []bool{false, true} { // in one process or in several
			a := w.client()
			b := a
			if others {
				b = w.client()
			}
			h1, h2 := a.acquire(1, 2), b.acquire(1, 2)
			first, second, third := b.acquiring(w.Ctx, 2, 2), a.acquiring(w.Ctx, 1, 2), b.acquiring(w.Ctx, 1, 2)
			nodes := w.entries(5)
			remove := func(i int) {
				w.Remove(nodes[i].Key)
				time.Sleep(time.Minute) // who waits is not watched at once
			}
			remove(3)
			second.Failed(coord.ErrRemoved)
			remove(0)
			w.Lost(h1, coord.ErrRemoved)
			blocked(first, third)
			remove(2)
			first.Failed(coord.ErrRemoved)
			h3 := third.Granted()
			w.Holds(h2, h3)
			last := b.acquiring(w.Ctx, 1, 2)
			blocked(last)
			w.RemoveDir()
			time.Sleep(2 * time.Second)
			w.Lost(h2, coord.ErrRemoved)
			w.Lost(h3, coord.ErrRemoved)
			last.Failed(coord.ErrRemoved)
			w.release(a.acquire(2, 2))
		}
	})
}

func TestWaitersWhoseSessionIsLostFail(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.client(), w.client(), w.client()
		h := a.acquire(2, 2)
		session, err := b.Session(w.Ctx)
		if err != nil {
			t.Fatal(err)
		}
		first, second, third := b.acquiring(w.Ctx, 1, 2), b.acquiring(w.Ctx, 1, 2), c.acquiring(w.Ctx, 2, 2)
		w.Store.Expire(session.ID())
		time.Sleep(ttl)
		first.Failed(coord.ErrSessionLost)
		second.Failed(coord.ErrSessionLost)
		blocked(third)
		w.release(h)
		w.release(third.Granted())
	})
}

// Whatever fails after permits were taken, they return in full.
func TestCapacityRecovers(t *testing.T) {
	for name, fail := range map[string]func(w *world, a *client, l *mem.Link){
		"replies to Acquire lost": func(w *world, a *client, l *mem.Link) {
			l.DropNextReply(mem.OpCreate)
			l.DropNextReply(mem.OpCreate)
			w.release(a.acquire(3, 3))
		},
		"replies to Release lost": func(w *world, a *client, l *mem.Link) {
			h := a.acquire(3, 3)
			l.DropNextReply(mem.OpDelete)
			l.LoseNextRequest(mem.OpDelete)
			w.release(h)
		},
		"given up, and applied late": func(w *world, a *client, l *mem.Link) {
			late := l.Hold(mem.OpCreate)
			ctx, cancel := context.WithCancel(w.Ctx)
			try := a.acquiring(ctx, 3, 3)
			<-late.Caught()
			cancel()
			try.Failed(context.Canceled)
			late.Release()
		},
		"given up after it was applied": func(w *world, a *client, l *mem.Link) {
			l.Freeze(mem.Down)
			ctx, cancel := context.WithCancel(w.Ctx)
			try := a.acquiring(ctx, 3, 3)
			cancel()
			try.Failed(context.Canceled)
			l.LoseNextRequest(mem.OpAbandon)
			l.Thaw(mem.Down)
		},
		"released under a ctx that has ended": func(w *world, a *client, _ *mem.Link) {
			h := a.acquire(3, 3)
			ctx, cancel := context.WithCancel(w.Ctx)
			cancel()
			w.Is(h.Release(ctx), context.Canceled)
		},
		"released with the store out of reach": func(w *world, a *client, l *mem.Link) {
			h := a.acquire(3, 3)
			l.Cut()
			ctx, cancel := context.WithTimeout(w.Ctx, time.Second)
			defer cancel()
			w.Is(h.Release(ctx), context.DeadlineExceeded)
			w.Lost(h, coord.ErrReleased)
			if err := l.Heal(); err != nil {
				w.Fatal(err)
			}
			w.release(h, h)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a, b := w.client(), w.client()
				if _, err := a.Session(w.Ctx); err != nil {
					t.Fatal(err)
				}
				fail(w, a, a.Link())
				time.Sleep(ttl / 3)
				w.entries(0)
				w.release(b.acquire(3, 3))
			})
		})
	}
}

// Many try again and again, while others acquire in earnest: never more than the
// limit are in, those who wait get in, and nothing is left.
func TestStorm(t *testing.T) {
	bubbleFast(t, func(w *world) {
		const limit = 5
		var in, tries, got atomic.Int64
		hold := func(h *semaphore.Held) {
			if n := in.Add(int64(h.Permits())); n > limit {
				t.Errorf("%d permits are held of %d", n, limit)
			}
			time.Sleep(time.Millisecond)
			in.Add(-int64(h.Permits()))
			w.release(h)
		}
		ctx, cancel := context.WithCancel(w.Ctx)
		var storm, earnest sync.WaitGroup
		for i := range 12 {
			s := w.client().semaphore(limit)
			storm.Go(func() {
				for ctx.Err() == nil {
					tries.Add(1)
					h, err := s.TryAcquire(w.Ctx, 1+i%3)
					if err == nil {
						got.Add(1)
						hold(h)
					} else if !errors.Is(err, coord.ErrBusy) {
						t.Error(err)
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		for i := range 4 {
			s := w.client().semaphore(limit)
			earnest.Go(func() {
				for range 25 {
					h, err := s.Acquire(w.Ctx, limit-i)
					if err != nil {
						t.Error(err)
						return
					}
					hold(h)
					time.Sleep(time.Millisecond) // and the storm gets in
				}
			})
		}
		earnest.Wait()
		cancel()
		storm.Wait()
		if got.Load() == 0 || got.Load() == tries.Load() {
			t.Errorf("%d of %d tries succeeded; want a storm", got.Load(), tries.Load())
		}
		w.entries(0)
	})
}

func TestCloseEndsHoldsAndWaits(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.acquire(2, 2)
		first, second := b.acquiring(w.Ctx, 1, 2), a.acquiring(w.Ctx, 1, 2)
		if err := b.Close(w.Ctx); err != nil {
			t.Fatal(err)
		}
		first.Failed(coord.ErrClosed)
		blocked(second)
		if err := a.Close(w.Ctx); err != nil {
			t.Fatal(err)
		}
		second.Failed(coord.ErrClosed)
		w.Lost(h, coord.ErrClosed)
		w.entries(0)
	})
}

// Every call ends with its ctx when the store does not answer.
func TestDeadlineWithAFrozenStore(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h, other := a.acquire(1, 2), b.acquire(1, 2)
		waiting, cancel := context.WithTimeout(w.Ctx, time.Second)
		defer cancel()
		line := a.acquiring(waiting, 1, 2)
		a.Link().Freeze(mem.Both)
		s := a.semaphore(2)
		never := func(context.Context, uint64) error { panic("called") }
		for name, call := range map[string]func(context.Context) error{
			"Acquire":    func(ctx context.Context) error { _, err := s.Acquire(ctx, 1); return err },
			"TryAcquire": func(ctx context.Context) error { _, err := s.TryAcquire(ctx, 1); return err },
			"Contenders": func(ctx context.Context) error { _, err := s.Contenders(ctx); return err },
			"Limit":      func(ctx context.Context) error { _, _, err := s.Limit(ctx); return err },
			"SetLimit":   func(ctx context.Context) error { return s.SetLimit(ctx, 3) },
			"Do":         func(ctx context.Context) error { return s.Do(ctx, 1, never) },
			"Release":    h.Release,
		} {
			ctx, cancel := context.WithTimeout(w.Ctx, 400*time.Millisecond)
			from := time.Now()
			w.Is(call(ctx), context.DeadlineExceeded)
			cancel()
			if d := time.Since(from); d > 400*time.Millisecond {
				t.Errorf("%s took %v under a ctx of 400 ms", name, d)
			}
		}
		<-line.Over
		line.Failed(context.DeadlineExceeded)
		if err := a.Link().Heal(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(ttl)
		w.entries(1)
		w.release(other)
	})
}
