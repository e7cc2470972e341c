package conformance

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

func waitEndRules() []Rule {
	return []Rule{
		{
			ID:   "W4",
			Text: "The session's end ends the wait with ErrSessionLost within a second.",
			Cases: []Case{
				{Name: "closed", Check: endsWithClose},
				{Name: "ended by the store", Needs: NeedExpire, Check: endsWithExpiry},
				{Name: "link frozen", Needs: NeedLink, Check: func(t *Trial) { endsWithLoss(t, func(l Link) { l.Freeze(netfault.Both) }) }},
				{Name: "connections refused", Needs: NeedLink, Check: func(t *Trial) { endsWithLoss(t, Link.Cut) }},
			},
		},
		{
			ID:   "W5",
			Text: "A broken connection is healed or reported: never nil, never a hang.",
			Cases: append(perDirection(deletedInGap),
				Case{Name: "connections reset", Needs: NeedLink, Check: func(t *Trial) { deletedInGap(t, Link.DropConnections) }},
				Case{Name: "connections refused", Needs: NeedLink, Check: func(t *Trial) { deletedInGap(t, Link.Cut) }},
				Case{Name: "replies lost", Needs: NeedLink, Check: func(t *Trial) { deletedInGap(t, Link.DropReplies) }},
				Case{Name: "reset again and again", Needs: NeedLink, Check: deletedUnderResets},
				oftenReset(deletedAfterManyResets),
				quiet(longAfter, NeedLink, deletedLongAfterFaults),
			),
		},
		{
			ID:    "W6",
			Text:  "A wait that ended leaves no watch behind, or a shared and bounded one.",
			Cases: waitLeftCases(),
		},
	}
}

// endsLost wants the wait to have ended, or to end within a second, with one
// of the errors.
func (t *Trial) endsLost(w *waiting, after string, want ...error) {
	if !t.within(time.Second, w.done) {
		t.Fatalf("WaitDelete has not returned a second after %s", after)
	}
	if !slices.ContainsFunc(want, func(kind error) bool { return errors.Is(w.err, kind) }) {
		t.Fatalf("WaitDelete returned %s after %s; want %v", errorOf(w.err), after, want)
	}
}

func endsWithClose(t *Trial) {
	s := t.Session()
	n := t.Bystander(dir)
	w := t.wait(s, n)
	_ = s.Close(t.ctx) // what it owes is for S5
	t.endsLost(w, "its session was closed", driver.ErrSessionLost, driver.ErrClosed)
	t.endsLost(t.wait(s, n), "its session was closed", driver.ErrSessionLost, driver.ErrClosed)
}

func endsWithExpiry(t *Trial) {
	s := t.Session()
	n := t.Bystander(dir)
	w := t.wait(s, n)
	t.expire(s)
	t.within(t.h.TTL, w.done) // so long the driver may take to notice (S4)
	t.endsLost(w, "the store ended its session and a TTL passed", driver.ErrSessionLost)
	t.endsLost(t.wait(s, n), "its session was ended by the store", driver.ErrSessionLost)
}

// endsWithLoss waits when a fault of the link comes, and begins a wait after it.
func endsWithLoss(t *Trial, fault func(Link)) {
	s, l := t.SessionOverLink()
	n := t.Bystander(dir)
	waits := []*waiting{t.wait(s, n)}
	fault(l)
	waits = append(waits, t.startWait(s, n))
	for start := time.Now(); !ended(s.Done()); t.pause() {
		if time.Since(start) > t.h.Expiry {
			t.NotVerified("Done did not close on a broken link, which S1 is about")
		}
		for i, w := range waits {
			switch {
			case ended(w.done) && w.err == nil:
				t.NotVerified("the wait ended with nil before the session did, which W2 is about")
			case ended(w.done) && driver.Transient(w.err): // W5 lets it say so
				waits[i] = t.startWait(s, n)
			}
		}
	}
	for _, w := range waits {
		if ended(w.done) && driver.Transient(w.err) { // a moment before
			w = t.startWait(s, n)
		}
		t.endsLost(w, "Done was closed", driver.ErrSessionLost)
	}
	t.heal(l)
	t.endsLost(t.wait(s, n), "its session was lost", driver.ErrSessionLost)
}

// deletedInGap deletes the node while the waiter cannot hear of it. A nil that
// comes too early is for W2; here the wait must come to its end at all.
func deletedInGap(t *Trial, fault func(Link)) {
	c, l := t.OpenLink()
	waiter, owner := t.SessionOn(c), t.Session()
	t.Bystander(dir)
	n := t.Create(owner, dir, "0")
	w := t.wait(waiter, n)
	fault(l)
	t.Delete(owner, n)
	t.sleep(t.h.TTL / 16) // let the driver find out that it is cut off
	t.heal(l)
	t.comesToEnd(waiter, w, n)
}

func deletedUnderResets(t *Trial) {
	c, l := t.OpenLink()
	waiter, owner := t.SessionOn(c), t.Session()
	t.Bystander(dir)
	for i := range 6 {
		n := t.Create(owner, dir, fmt.Sprint(i%4))
		w := t.wait(waiter, n)
		for range i % 4 {
			l.DropConnections()
		}
		t.Delete(owner, n)
		l.DropConnections()
		t.comesToEnd(waiter, w, n)
	}
}

// comesToEnd wants a wait for a node that is gone to be healed or reported; if
// it is reported, a new wait must find the node gone.
func (t *Trial) comesToEnd(s driver.Session, w *waiting, n driver.Node) {
	for {
		if !t.within(t.patience(), w.done) {
			t.Fatalf("WaitDelete of %s, deleted while the connection was broken, has not returned %v after the connection healed",
				show(n), t.patience())
		}
		if w.err == nil {
			return
		}
		t.mustLive(s)
		if !driver.Transient(w.err) {
			t.Fatalf("WaitDelete over a broken connection returned %q; want nil or an error that says to try again", w.err)
		}
		t.pause()
		w = t.wait(s, n)
	}
}
