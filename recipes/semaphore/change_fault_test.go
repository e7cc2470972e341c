package semaphore_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/recipetest"
)

// A change that fails leaves the limit as it was, and not as it was before that.
func TestAChangeThatFails(t *testing.T) {
	for name, own := range map[string]bool{"by the same value": true, "by another client": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a := w.client()
				s := a.semaphore(10)
				w.setLimit(s, 2)
				by, link := s, a.Link()
				if !own {
					b := w.client()
					by, link = b.semaphore(10), b.Link()
					_, err := b.Session(w.Ctx)
					w.OK(err)
				}
				w.Settle()
				for _, d := range []mem.Direction{mem.Up, mem.Down, mem.Both} { // it lands late, or it was not heard of
					link.Freeze(d)
					ctx, cancel := context.WithTimeout(w.Ctx, time.Second)
					w.Is(by.SetLimit(ctx, 5), context.DeadlineExceeded)
					cancel()
					w.Is(link.Heal(), nil)
					time.Sleep(2 * time.Second)
					w.notices(1)
					w.uses(w.client(), 2, 0)
				}
				w.setLimit(by, 5)
				w.notices(1)
				w.uses(w.client(), 5, 0)
			})
		})
	}
}

// Replies that are lost change nothing.
func TestAChangeWithLostReplies(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		h := a.acquire(1, 1)
		next := b.acquiring(w.Ctx, 1, 1)
		s := a.semaphore(1)
		a.Link().DropNextReply(mem.OpCreate)
		a.Link().DropNextReply(mem.OpUpdate)
		w.setLimit(s, 2)
		in := next.Granted()
		a.Link().DropNextReply(mem.OpDelete)
		w.setLimit(s, 1)
		w.notices(1)
		w.uses(b, 1, 2)
		w.release(h, in)
	})
}

// The store refuses for long to let a change be confirmed, and nothing else: it is
// confirmed when the store allows it, and ends the change before it.
func TestAChangeThatIsConfirmedLate(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		w.setLimit(a.semaphore(3), 6)
		w.notices(1)
		for range 1000 {
			b.Link().LoseNextRequest(mem.OpUpdate)
		}
		w.setLimit(b.semaphore(3), 2)
		time.Sleep(2 * ttl)
		w.notices(2)
		w.uses(w.client(), 2, 0)
		w.OK(b.Link().Heal())
		time.Sleep(2 * ttl)
		if v := string(queue.Value(w.notices(1)[0])); !strings.HasPrefix(v, "2@") || v == "2@0" {
			w.Errorf("the notice that is left says %q; want the later change, confirmed", v)
		}
		w.close(b)
		w.notices(0)
		w.uses(w.client(), 1, 0)
	})
}

// The reply to a change arrives when the next one has been made.
func TestAChangeThatIsHeardOfLate(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		s := a.semaphore(1)
		_, err := a.Session(w.Ctx)
		w.OK(err)
		a.Link().DropNextReply(mem.OpCreate)
		late := make(chan error, 1)
		go func() { late <- s.SetLimit(w.Ctx, 5) }()
		synctest.Wait()
		if n := w.of("l"); len(late) != 0 || len(n) != 1 {
			w.Fatalf("%d notices; want one that is there and was not heard of", len(n))
		}
		w.setLimit(s, 7)
		w.OK(<-late)
		time.Sleep(2 * time.Second)
		w.notices(1)
		w.uses(w.client(), 7, 0)
	})
}

// While a change is being put up again, it is changed once more.
func TestAChangeWhileTheLastIsLost(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		s := a.semaphore(9)
		w.setLimit(s, 2)
		w.Settle()
		time.Sleep(time.Second)
		again := a.Link().Hold(mem.OpCreate)
		w.Remove(w.of("l")[0].Key)
		<-again.Caught()
		w.setLimit(s, 5)
		again.Release()
		w.notices(1)
		w.uses(w.client(), 5, 0)

		a.Link().Cut()
		time.Sleep(2 * ttl)
		set := w.attempt(func(at *attempt) { at.Err = s.SetLimit(w.Ctx, 7) })
		time.Sleep(ttl / 2)
		w.Is(a.Link().Heal(), nil)
		<-set.Over
		if set.Err != nil {
			w.setLimit(s, 7)
		}
		time.Sleep(2 * time.Second)
		w.notices(1)
		w.uses(w.client(), 7, 0)
	})
}

// What somebody has overwritten is no change, and no reason to stop.
func TestUnreadableNotices(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		w.setLimit(a.semaphore(9), 2)
		w.setLimit(b.semaphore(9), 2)
		conn := w.Store.Open(recipetest.Namespace)
		session, err := conn.OpenSession(w.Ctx, ttl)
		w.Is(err, nil)
		defer conn.Close()
		for i, value := range []string{"", "x", "@7", "0@7", "-1@7", "99999999999@7", "x@7"} {
			_, err := session.Create(w.Ctx, dir, "l"+string(rune('0'+i)), []byte("{}\n"+value))
			w.Is(err, nil)
		}
		w.Settle()
		w.uses(w.client(), 2, 0)
		// One of a later version than its own is one that is being made.
		_, err = session.Create(w.Ctx, dir, "l9", []byte("{}\n5@99999"))
		w.Is(err, nil)
		w.uses(w.client(), 5, 0)
		w.Is(session.Close(w.Ctx), nil)
		n := w.notices(2)
		if string(queue.Value(n[0])) == string(queue.Value(n[1])) {
			w.Errorf("both notices say %q", queue.Value(n[0]))
		}
	})
}
