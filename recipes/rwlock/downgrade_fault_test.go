package rwlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/rwlock"
)

func TestDowngradeWithTheReplyLost(t *testing.T) {
	for name, fail := range map[string]func(*mem.Link){
		"of the reader's entry":         func(l *mem.Link) { l.DropNextReply(mem.OpCreate); l.DropNextReply(mem.OpCreate) },
		"of the writer's going":         func(l *mem.Link) { l.DropNextReply(mem.OpDelete); l.DropNextReply(mem.OpDelete) },
		"request of the reader's entry": func(l *mem.Link) { l.LoseNextRequest(mem.OpCreate) },
		"request of the writer's going": func(l *mem.Link) { l.LoseNextRequest(mem.OpDelete) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a, b := w.client(), w.client()
				h := a.lock()
				reader, writer := b.reading(w.Ctx), b.writing(w.Ctx)
				fail(a.Link())
				r := w.downgrade(h)
				h2 := reader.Granted()
				blocked(writer)
				w.Nodes(3)
				w.unlock(h2)
				blocked(writer)
				w.unlock(r)
				w.unlock(writer.Granted())
			})
		})
	}
}

// The request for the reader's entry is on its way when the caller gives up, and
// lands when the lock is another's, if nothing were done about it.
func TestCancelledDowngradeStillWrites(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.lock()
		reader := b.reading(w.Ctx)
		late := a.Link().Hold(mem.OpCreate)
		ctx, cancel := context.WithCancel(w.Ctx)
		down := w.attempt(func(at *attempt) { at.Held, at.Err = either(h.Downgrade(ctx)) })
		<-late.Caught()
		cancel()
		down.Failed(context.Canceled)
		w.Holds(h)
		blocked(reader)
		r := w.downgrade(h) // again, while the first request is on its way
		w.unlock(r, reader.Granted())
		writer := b.lock()
		late.Release()
		w.Nodes(1)
		w.Holds(writer)
		w.unlock(writer)
	})
}

// The reader's entry was made and its maker has given up, twice, and cannot
// remove it yet. Both are in the way of writers until they are gone, for nobody
// can know better.
func TestAbandonedDowngradeIsClearedUp(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.lock()
		next := b.writing(w.Ctx)
		link := a.Link()
		var left []*mem.HeldRequest
		for range 2 {
			left = append(left, link.Hold(mem.OpAbandon))
			link.Freeze(mem.Down)
			ctx, cancel := context.WithCancel(w.Ctx)
			down := w.attempt(func(at *attempt) { at.Held, at.Err = either(h.Downgrade(ctx)) })
			blocked(down)
			cancel()
			down.Failed(context.Canceled)
			link.Thaw(mem.Down)
		}
		w.Nodes(4)
		w.Holds(h)
		w.unlock(h)
		w.Nodes(3)
		blocked(next)
		left[0].Release()
		w.Nodes(2)
		blocked(next)
		left[1].Release()
		w.unlock(next.Granted())
		w.Nodes(0)
	})
}

// With the store out of reach a downgrade ends with its ctx, and can be made
// when the store is back.
func TestDowngradeIsRetryable(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.lock()
		reader, writer := b.reading(w.Ctx), b.writing(w.Ctx)
		link := a.Link()
		for _, dir := range []mem.Direction{mem.Up, mem.Down, mem.Both} {
			link.Freeze(dir)
			ctx, cancel := context.WithTimeout(w.Ctx, time.Second)
			start := time.Now()
			_, err := h.Downgrade(ctx)
			cancel()
			w.Is(err, context.DeadlineExceeded)
			if d := time.Since(start); d > time.Second {
				t.Errorf("Downgrade took %v under a ctx of a second", d)
			}
			w.Holds(h)
			blocked(reader, writer)
			link.Thaw(dir)
		}
		time.Sleep(time.Second) // what was given up is cleared up
		w.Nodes(3)
		r := w.downgrade(h)
		h2 := reader.Granted()
		blocked(writer)
		w.unlock(r, h2)
		w.unlock(writer.Granted())
	})
}

// The hold ends while the reader's entry is being made: no reader comes of it,
// and whoever is next is next.
func TestLossDuringDowngrade(t *testing.T) {
	for name, loss := range map[string]struct {
		why error
		of  func(w *world, h *rwlock.WriteHeld)
	}{
		"session ended": {coord.ErrSessionLost, func(w *world, h *rwlock.WriteHeld) { w.Store.Expire(h.Session().ID()) }},
		"entry removed": {coord.ErrRemoved, func(w *world, h *rwlock.WriteHeld) { w.Remove(w.Line()[0].Key) }},
		"unlocked":      {coord.ErrReleased, func(w *world, h *rwlock.WriteHeld) { w.unlock(h) }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				for _, known := range []time.Duration{0, time.Second} { // to the holder, when the entry is made
					a, b := w.client(), w.client()
					h := a.lock()
					next := b.writing(w.Ctx)
					late := a.Link().Hold(mem.OpCreate)
					down := w.attempt(func(at *attempt) { at.Held, at.Err = either(h.Downgrade(w.Ctx)) })
					<-late.Caught()
					loss.of(w, h)
					second := next.Granted()
					time.Sleep(known)
					late.Release()
					<-down.Over
					down.Failed(coord.ErrNotHeld)
					w.Is(down.Err, loss.why)
					w.Lost(h, loss.why)
					time.Sleep(time.Second)
					w.Holds(second)
					w.Nodes(1)
					w.unlock(second)
				}
			})
		})
	}
}

// The same after the reader's entry was made: it is in the writer's place, and
// nobody got in between.
func TestRemovalAfterDowngrade(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.lock()
		reader, writer := b.reading(w.Ctx), b.writing(w.Ctx)
		late := a.Link().Hold(mem.OpDelete)
		down := w.attempt(func(at *attempt) { at.Held, at.Err = either(h.Downgrade(w.Ctx)) })
		<-late.Caught()
		nodes := w.Nodes(4)
		w.Remove(nodes[0].Key)
		h2 := reader.Granted()
		blocked(writer)
		late.Release()
		r := down.Granted()
		w.Holds(r, h2)
		w.unlock(h2)
		blocked(writer)
		w.Remove(nodes[3].Key) // and what stands in for it
		w.unlock(writer.Granted())
		time.Sleep(time.Second)
		w.Lost(r, coord.ErrRemoved)
	})
}

// Who is cut off after a downgrade is told before a writer comes in.
func TestDowngradedReaderIsToldOfItsLoss(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		r := w.downgrade(a.lock())
		next := b.writing(w.Ctx)
		a.Link().Freeze(mem.Both)
		told := make(chan time.Time, 1)
		stop := context.AfterFunc(r.Context(), func() { told <- time.Now() })
		defer stop()
		<-next.Over
		if at := <-told; next.Err != nil || next.At.Before(at) {
			t.Fatalf("the lock was granted at %v, %v; the reader was told at %v", next.At, next.Err, at)
		}
		w.Lost(r, coord.ErrSessionLost)
		w.unlock(next.Granted())
		if err := a.Link().Heal(); err != nil {
			t.Fatal(err)
		}
	})
}

// What somebody has written over a downgraded writer's entry does not let a writer in
// beside it.
func TestOverwrittenDowngradeIsInTheWay(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		first := a.lock()
		reader := b.reading(w.Ctx)
		second := b.writing(w.Ctx)
		down := w.downgrade(first)
		read := reader.Granted()
		line := w.Line()
		s, err := a.Session(w.Ctx)
		w.OK(err)
		_, err = s.Driver().Update(w.Ctx, line[len(line)-1], []byte("by hand"))
		w.OK(err)
		w.unlock(read)
		blocked(second)
		w.unlock(down)
		w.unlock(second.Granted())
	})
}
