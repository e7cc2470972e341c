package mem_test

import (
	"context"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// U1
func TestUpdateReplacesTheDataAndNothingElse(t *testing.T) {
	bubble(t, func(w world) {
		s, _ := w.client()
		first, n, last := w.create(s, "0"), w.create(s, "1"), w.create(s, "2")
		before := w.line()
		data := []byte("new")
		now, err := s.Update(w.ctx, n, data)
		w.ok(err)
		data[0] = 'x'
		if !now.Same(n) || now.Seq != n.Seq || now.Session != n.Session || string(now.Data) != "new" {
			t.Errorf("updated: %+v; was %+v", now, n)
		}
		w.sees(first, n, last)
		if got := string(w.line()[1].Data); got != "new" {
			t.Errorf("the data is %q", got)
		}
		if got := string(before[1].Data); got != "data of 1" {
			t.Errorf("an earlier list changed to %q", got)
		}
		found, err := s.Create(w.ctx, dir, "1", nil)
		w.ok(err)
		if string(found.Data) != "new" {
			t.Errorf("Create found the data %q", found.Data)
		}
	})
}

// U2, U3, U4
func TestChangesToAGoneNodeTouchNothing(t *testing.T) {
	bubble(t, func(w world) {
		s, _ := w.client()
		n := w.create(s, "0")
		w.ok(s.Delete(w.ctx, n))
		gone := func() {
			t.Helper()
			_, err := s.Update(w.ctx, n, []byte("new"))
			w.is(err, driver.ErrGone)
			w.ok(s.Delete(w.ctx, n))
		}
		gone()
		w.sees()
		other := w.create(s, "1") // in the same directory
		gone()
		later := w.create(s, "0") // of the same name
		gone()
		w.sees(other, later)
		if got := string(w.line()[1].Data); got != "data of 0" {
			t.Errorf("the namesake's data is %q", got)
		}
		if w.store.Remove(namespace, dir, "no such key") || w.store.Remove(namespace, "no such dir", n.Key) {
			t.Error("removed what is not there")
		}
	})
}

// U2: also when it was sent before the namesake was made.
func TestLateChangesTouchNoNamesake(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		n := w.create(s, "0")
		update, del := link.Hold(mem.OpUpdate), link.Hold(mem.OpDelete)
		_, err := s.Update(w.timeout(time.Second), n, []byte("late"))
		w.is(err, context.DeadlineExceeded, driver.ErrUncertain)
		w.is(s.Delete(w.timeout(time.Second), n), context.DeadlineExceeded, driver.ErrUncertain)
		w.ok(s.Delete(w.ctx, n))
		later := w.create(s, "0")
		update.Release()
		del.Release()
		w.sees(later)
		if got := string(w.line()[0].Data); got != "data of 0" {
			t.Errorf("the namesake's data is %q", got)
		}
	})
}

// An update that lands late does not undo a later one.
func TestLateUpdateUndoesNoLaterOne(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		n := w.create(s, "0")
		late := link.Hold(mem.OpUpdate)
		_, err := s.Update(w.timeout(time.Second), n, []byte("older"))
		w.is(err, context.DeadlineExceeded, driver.ErrUncertain)
		if _, err := s.Update(w.ctx, n, []byte("newer")); err != nil {
			t.Fatal(err)
		}
		late.Release()
		if got := string(w.line()[0].Data); got != "newer" {
			t.Errorf("the data is %q", got)
		}
	})
}

// U3: after a lost reply, again.
func TestDeleteIsRepeatedAfterALostReply(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		n := w.create(s, "0")
		link.DropNextReply(mem.OpDelete)
		w.is(s.Delete(w.ctx, n), driver.ErrUncertain)
		w.sees()
		w.ok(s.Delete(w.ctx, n))
	})
}
