package mem_test

import (
	"fmt"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// L1, O1
func TestListIsInTheOrderOfCreation(t *testing.T) {
	bubble(t, func(w world) {
		a, _ := w.client()
		b, _ := w.client()
		_, err := a.Create(w.ctx, dir+"2", "0", nil)
		w.ok(err)
		elsewhere := w.store.Open(namespace + "2")
		defer elsewhere.Close()
		foreign := w.session(elsewhere)
		w.create(foreign, "0")
		var want []driver.Node
		for _, id := range []string{"0", "1", "10", "2"} {
			want = append(want, w.create(a, id), w.create(b, id))
		}
		w.sees(want...)
		line, err := b.List(w.ctx, dir)
		w.ok(err)
		if len(line) != len(want) || !line[5].Same(want[5]) {
			t.Errorf("the session sees %v", keys(line))
		}
	})
}

// L2
func TestForeignKeysAreIgnored(t *testing.T) {
	bubble(t, func(w world) {
		s, _ := w.client()
		w.store.PutForeign(namespace, dir, "somebody's")
		w.sees()
		n := w.create(s, "0")
		w.store.PutForeign(namespace, dir, "1-0")
		w.store.PutForeign(namespace, dir, "1-0")
		w.sees(n)
		w.ok(s.Delete(w.ctx, n))
		if got := w.store.Stats(); got.Foreign != 2 || got.Dirs != 1 {
			t.Errorf("%+v; the foreign keys are not the driver's to remove", got)
		}
		if !w.store.Remove(namespace, dir, "1-0") || w.store.Remove(namespace, dir, "1-0") {
			t.Error("a foreign key is removed once")
		}
		w.store.RemoveDir(namespace, dir)
	})
}

// L3, L5
func TestListHoldsWhatWasAcknowledged(t *testing.T) {
	bubble(t, func(w world) {
		a, _ := w.client()
		c := w.conn()
		b := w.session(c)
		w.create(a, "0")
		n := w.create(b, "0")
		own, err := b.List(w.ctx, dir)
		w.ok(err)
		seen, err := c.List(w.ctx, dir)
		w.ok(err)
		if len(own) != 2 || len(seen) != 2 || !own[1].Same(n) {
			t.Errorf("own %v, seen %v", keys(own), keys(seen))
		}
	})
}

// L4
func TestListingDoesNotMakeADirectory(t *testing.T) {
	bubble(t, func(w world) {
		s, _ := w.client()
		line, err := s.List(w.ctx, "missing")
		w.ok(err)
		if len(line) != 0 || w.store.Stats().Dirs != 0 {
			t.Errorf("listed %v, %+v", line, w.store.Stats())
		}
	})
}

// A store keeps nothing of what is not in use, whatever was used in between.
func TestNothingIsLeftOfManyDirectories(t *testing.T) {
	bubble(t, func(w world) {
		s, _ := w.client()
		in := func(dir string) driver.Node {
			n, err := s.Create(w.ctx, dir, "0", nil)
			w.ok(err)
			return n
		}
		for i := range 10 {
			w.ok(s.Delete(w.ctx, in(fmt.Sprint(i%3))))
		}
		stays := in("0") // one that was there and became empty
		w.ok(s.Delete(w.ctx, in("3")))
		if got := w.store.Stats().Dirs; got != 1 {
			t.Errorf("%d directories; want 1", got)
		}
		if line, err := s.List(w.ctx, "0"); err != nil || len(line) != 1 || !line[0].Same(stays) {
			t.Errorf("listed %v, %v; want %v", line, err, stays.Key)
		}
		w.ok(s.Delete(w.ctx, stays))
		if got := w.store.Stats().Dirs; got != 0 {
			t.Errorf("%d directories; want none", got)
		}
	})
}

// F1
func TestCreateListIsCreateAndList(t *testing.T) {
	bubble(t, func(w world) {
		a, _ := w.client()
		b, link := w.client()
		first := w.create(a, "0")
		lister := b.(driver.CreateLister)
		link.DropNextReply(mem.OpCreate)
		_, _, err := lister.CreateList(w.ctx, dir, "0", []byte("x"))
		w.is(err, driver.ErrUncertain)
		n, line, err := lister.CreateList(w.ctx, dir, "0", []byte("x"))
		w.ok(err)
		w.sees(first, n)
		if len(line) != 2 || !line[0].Same(first) || !line[1].Same(n) || string(line[1].Data) != "x" {
			t.Errorf("the list is %v", keys(line))
		}
		_, _, err = lister.CreateList(w.ctx, dir, "1", make([]byte, driver.MaxData+1))
		w.is(err, driver.ErrInvalid)
	})
}
