package mem_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// C1
func TestCreatedNodeIsSeenByOthers(t *testing.T) {
	bubble(t, func(w world) {
		s, _ := w.client()
		n := w.create(s, "0")
		if n.Dir != dir || n.ID != "0" || n.Session != s.ID() || string(n.Data) != "data of 0" || n.Seq == 0 || n.Token == 0 {
			t.Errorf("the node is %+v", n)
		}
		w.sees(n)
	})
}

// C2
func TestCreateAgainFindsTheNodeAsItIs(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		n := w.create(s, "0")
		again, err := s.Create(w.ctx, dir, "0", []byte("other"))
		w.ok(err)
		if !again.Same(n) || string(again.Data) != "data of 0" {
			t.Errorf("created again: %+v; want %+v", again, n)
		}
		link.DropNextReply(mem.OpCreate)
		_, err = s.Create(w.ctx, dir, "1", nil)
		w.is(err, driver.ErrUncertain)
		landed := w.line()[1]
		retry := w.create(s, "1")
		if !retry.Same(landed) {
			t.Errorf("the retry found %s; want %s", retry.Key, landed.Key)
		}
		w.sees(n, retry)
	})
}

// C2: all the attempts that a frozen link held land together.
func TestRepeatedCreatesThatLandLateMakeOneNode(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		link.Freeze(mem.Up)
		for range 5 {
			_, err := s.Create(w.timeout(100*time.Millisecond), dir, "0", nil)
			w.is(err, context.DeadlineExceeded, driver.ErrUncertain)
		}
		w.sees()
		w.ok(link.Heal())
		w.sees(w.create(s, "0"))
	})
}

// C3
func TestTheSameIDOfAnotherSessionIsAnotherNode(t *testing.T) {
	bubble(t, func(w world) {
		c := w.conn()
		a, b := w.session(c), w.session(c)
		first, second := w.create(a, "0"), w.create(b, "0")
		if first.Same(second) {
			t.Error("one node for two sessions")
		}
		w.ok(b.Abandon(w.ctx, dir, "0"))
		w.sees(first)
	})
}

// C4: the request lands after the Abandon was acknowledged.
func TestAbandonedCreateNeverLands(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		held := link.Hold(mem.OpCreate)
		_, err := s.Create(w.timeout(time.Second), dir, "0", nil)
		w.is(err, context.DeadlineExceeded, driver.ErrUncertain)
		w.ok(s.Abandon(w.ctx, dir, "0"))
		held.Release()
		w.sees()
		n := w.create(s, "0") // the slot is as good as new
		w.sees(n)
	})
}

// C4: it landed before.
func TestAbandonRemovesWhatHasLanded(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		keep := w.create(s, "1")
		link.DropNextReply(mem.OpCreate)
		_, err := s.Create(w.ctx, dir, "0", nil)
		w.is(err, driver.ErrUncertain)
		w.ok(s.Abandon(w.ctx, dir, "0"))
		w.sees(keep)
		w.ok(s.Abandon(w.ctx, dir, "0")) // and again, where there is nothing
		w.ok(s.Abandon(w.ctx, "no such directory", "0"))
	})
}

// C4: an Abandon that lands late does not touch what came after it, also when
// the later Create found the earlier one's node.
func TestLateAbandonSparesALaterCreate(t *testing.T) {
	for _, landed := range []bool{true, false} {
		bubble(t, func(w world) {
			s, link := w.client()
			if landed {
				link.DropNextReply(mem.OpCreate)
			} else {
				link.LoseNextRequest(mem.OpCreate)
			}
			_, err := s.Create(w.ctx, dir, "0", nil)
			if !driver.Transient(err) {
				t.Fatal(err)
			}
			held := link.Hold(mem.OpAbandon)
			w.is(s.Abandon(w.timeout(time.Second), dir, "0"), context.DeadlineExceeded)
			n := w.create(s, "0")
			held.Release()
			w.sees(n)
			w.ok(s.Abandon(w.ctx, dir, "0"))
			w.sees()
		})
	}
}

// C4 with C5: an early request that was overtaken by a repetition, whose node
// was deleted in the meantime, does not bring it back.
func TestOvertakenCreateDoesNotLandAfterTheDelete(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		held := link.Hold(mem.OpCreate)
		_, err := s.Create(w.timeout(time.Second), dir, "0", nil)
		w.is(err, context.DeadlineExceeded)
		w.ok(s.Delete(w.ctx, w.create(s, "0")))
		held.Release()
		w.sees()
	})
}

// An Abandon voids what it has overtaken, also other slots' requests: those
// that are still wanted are sent again.
func TestAbandonOfOneSlotDoesNotFailAnother(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		held := link.Hold(mem.OpCreate)
		creating := async(func() error {
			_, err := s.Create(w.ctx, dir, "0", nil)
			return err
		})
		w.pending(creating)
		w.ok(s.Abandon(w.ctx, dir, "1"))
		held.Release()
		w.ok(w.ended(creating))
		w.sees(w.create(s, "0"))
	})
}

// C5, O1, O2
func TestSlotIsUsedAgainAtTheEndOfTheLine(t *testing.T) {
	bubble(t, func(w world) {
		s, _ := w.client()
		first, second := w.create(s, "0"), w.create(s, "1")
		w.ok(s.Delete(w.ctx, first))
		again := w.create(s, "0")
		w.sees(second, again)
		if again.Same(first) || again.Seq <= second.Seq || again.Token <= second.Token {
			t.Errorf("first %+v, second %+v, again %+v", first, second, again)
		}
	})
}

// C6, O2
func TestCreateWhereTheDirectoryWasRemoved(t *testing.T) {
	bubble(t, func(w world) {
		s, _ := w.client()
		before := w.create(s, "0")
		if !w.store.RemoveDir(namespace, dir) || w.store.RemoveDir(namespace, dir) {
			t.Error("a directory is removed once")
		}
		w.sees()
		after := w.create(s, "0")
		w.sees(after)
		if after.Token <= before.Token {
			t.Errorf("token %d after %d", after.Token, before.Token)
		}
	})
}

// C7
func TestCreateThatLandsAfterTheSessionLeavesNothing(t *testing.T) {
	ends := map[string]func(w world, s driver.Session){
		"closed":  func(w world, s driver.Session) { w.ok(s.Close(w.ctx)) },
		"expired": func(w world, s driver.Session) { w.store.Expire(s.ID()) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w world) {
				s, link := w.client()
				held := link.Hold(mem.OpCreate)
				creating := async(func() error {
					_, err := s.Create(w.ctx, dir, "0", nil)
					return err
				})
				<-held.Caught()
				end(w, s)
				held.Release()
				if err := w.ended(creating); err == nil {
					t.Error("created in a session that is over")
				}
				w.sees()
			})
		})
	}
}

// C8
func TestDataIsKeptExactlyUpToTheLimit(t *testing.T) {
	bubble(t, func(w world) {
		s, _ := w.client()
		data := bytes.Repeat([]byte{0, 255, '\n', '/'}, driver.MaxData/4)
		n, err := s.Create(w.ctx, dir, "0", data)
		w.ok(err)
		want := bytes.Clone(data)
		data[0] = 'x' // the caller's slice is the caller's
		if !bytes.Equal(n.Data, want) || !bytes.Equal(w.line()[0].Data, want) {
			t.Error("the data is not what was given")
		}
		_, err = s.Create(w.ctx, dir, "1", append(data, 0))
		w.is(err, driver.ErrInvalid)
		_, err = s.Update(w.ctx, n, append(data, 0))
		w.is(err, driver.ErrInvalid)
		if !strings.Contains(err.Error(), "49153 bytes of data; the most is 49152") {
			t.Errorf("the message is %q", err)
		}
		w.sees(n)
		if !bytes.Equal(w.line()[0].Data, want) {
			t.Error("a refused update changed the data")
		}
	})
}
