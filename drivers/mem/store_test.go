package mem

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/lease"
)

// S1 after a pause of the process, when the client's timer and the store's are
// due at once: the store makes the client look at its clock first.
func TestClientIsAskedBeforeTheNodesVanish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := NewStore()
		conn := st.Open("app")
		defer conn.Close()
		opened, err := conn.OpenSession(context.Background(), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		s := opened.(*session)
		if _, err := s.Create(context.Background(), "a", "0", nil); err != nil {
			t.Fatal(err)
		}
		conn.Link().Cut()
		nodes, noticed := -1, false
		st.mu.Lock()
		s.granted.notify = func() bool { // as if the client's timer were late
			if !noticed {
				nodes = len(st.dirs[place{"app", "a"}].nodes)
			}
			defer func() { noticed = true }()
			return !noticed
		}
		st.mu.Unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		if left := st.Stats().Nodes; left != 1 {
			t.Errorf("%d nodes when the client had just been told; want 1, for as long as the margin is", left)
		}
		time.Sleep(lease.Margin(time.Second))
		synctest.Wait()
		if nodes != 1 || st.Stats().Nodes != 0 {
			t.Errorf("%d nodes when the client was asked, %d afterwards; want 1 and 0", nodes, st.Stats().Nodes)
		}
	})
}

// The end of a lease is news to a client once, unless its own timer was first: at the
// moment when both look, either may be.
func TestEndIsNewsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := NewStore().Open("app")
		defer conn.Close()
		news := 0
		for range 64 {
			opened, err := conn.OpenSession(context.Background(), time.Second)
			if err != nil {
				t.Fatal(err)
			}
			s := opened.(*session)
			if s.granted.notify() {
				t.Error("a session that lives has heard of its end")
			}
			conn.Link().Cut()
			time.Sleep(time.Second - lease.Margin(time.Second))
			if s.granted.notify() {
				news++
			}
			if s.granted.notify() {
				t.Error("the same end is news again")
			}
			time.Sleep(time.Second)
			if err := conn.Link().Heal(); err != nil {
				t.Fatal(err)
			}
		}
		if news == 0 {
			t.Error("no end was news to anybody")
		}
	})
}

// What is due is not revived by a renewal that comes before the timer has run,
// and not ended by a timer that ran in spite of a renewal.
func TestRenewalAndExpiryAskTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := NewStore()
		l := st.grant(time.Second)
		time.Sleep(time.Second / 2)
		if err := st.renew(l); err != nil {
			t.Fatal(err)
		}
		st.lapse(l)
		if st.Stats().Sessions != 1 {
			t.Fatal("a late timer ended a session that was renewed")
		}
		l.timer.Stop() // as if it were late
		time.Sleep(time.Second)
		if err := st.renew(l); !errors.Is(err, errNoSession) {
			t.Errorf("a lapsed session was renewed: %v", err)
		}
		st.lapse(l)
		if st.Stats().Sessions != 0 {
			t.Error("the session was not ended")
		}
	})
}

// A session remembers nothing of the slots it has used, however many, and a
// connection nothing of the sessions.
func TestNothingIsKeptOfWhatWasUsed(t *testing.T) {
	conn := NewStore().Open("app")
	defer conn.Close()
	ctx := context.Background()
	opened, err := conn.OpenSession(ctx, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*session)
	for _, dir := range []string{"a", "b", "c"} {
		conn.Link().DropNextReply(OpCreate)
		if _, err := s.Create(ctx, dir, "0", nil); !errors.Is(err, driver.ErrUncertain) {
			t.Fatal(err)
		}
		if dir == "a" {
			err = s.Abandon(ctx, dir, "0")
		} else {
			var n driver.Node
			if n, err = s.Create(ctx, dir, "0", nil); err == nil {
				err = s.Delete(ctx, n)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(ctx); err != nil || len(conn.sessions) != 0 {
		t.Errorf("closed with %v; the connection keeps %d sessions", err, len(conn.sessions))
	}
	if len(s.doubt) != 0 || len(s.granted.slots) != 0 || len(conn.link.waiting) != 0 {
		t.Errorf("doubt %v, slots %v, waiting %v", s.doubt, s.granted.slots, conn.link.waiting)
	}
}
