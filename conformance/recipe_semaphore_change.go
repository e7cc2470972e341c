package conformance

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// semaphoreChangeRules are about how long a change of the limit lasts. A store of
// sessions has no place for one that nobody keeps.
func semaphoreChangeRules(open semaphoreOf) []Rule {
	return []Rule{
		{
			ID:   "P26",
			Text: "A change of the limit ends with who keeps it, for all at once, and who has seen it does not bring it back.",
			Cases: []Case{
				{Name: "raised, seen and held under", Check: open.check(semRaiseEnds)},
				{Name: "lowered, with some waiting", Check: open.check(semLowerEnds)},
				{Name: "an earlier one is not kept", Check: open.check(semLaterChange)},
				{Name: "several keep the same", Check: open.check(semSeveralKeep)},
				{Name: "confirmed late", Check: open.check(semConfirmedLate)},
			},
		},
		{
			ID:   "P27",
			Text: "Who has changed the limit keeps the change, whatever happens to its session and to the line, and overrides no later one.",
			Cases: []Case{
				{Name: "its session ended by the store", Needs: NeedExpire, Check: open.check(semKeptOverExpiry)},
				{Name: "its notice removed by an operator", Needs: NeedRemoveNode, Check: open.check(semKeptOverRemoval)},
				{Name: "the whole line removed", Needs: NeedRemoveDir, Check: open.check(semKeptOverEmptying)},
				{Name: "another change while it was cut off", Needs: NeedLink, Check: open.check(semComesBack)},
				{Name: "another change that is given up", Needs: NeedLink, Check: open.check(semChangeGivenUp)},
				{Name: "another change that its client cannot see", Needs: NeedRemoveNode, Check: open.check(semCannotFollow)},
			},
		},
		{
			ID:    "P28",
			Text:  "A client that the store does not serve tries again at a pace.",
			Cases: open.contests().pacing(),
		},
	}
}

// notices waits for so many notices of a limit in the line.
func (t sem) notices(n int) (found []driver.Node) {
	t.Eventually(t.patience()+t.h.Expiry, func() error {
		found = nil
		for _, one := range t.Nodes(t.dir()) {
			if strings.HasPrefix(one.ID, "l") {
				found = append(found, one)
			}
		}
		if len(found) != n {
			return fmt.Errorf("there are %d notices of a limit; want %d", len(found), n)
		}
		return nil
	})
	return found
}

// limited wants a limit, for somebody who was given another one.
func (t sem) limited(given, limit int) { t.inUse(t.open(t.Client(), name, given), limit, 0) }

// gone closes clients, as processes that end.
func (t sem) gone(clients ...*coord.Client) {
	for _, c := range clients {
		if err := c.Close(t.ctx); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
}

func semChangesAtOnce(t sem) {
	s := t.open(t.Client(), name, 1)
	var over []<-chan struct{}
	for i := range 6 {
		by := s // half of them with one value
		if i%2 == 0 {
			by = t.open(t.Client(), name, 1)
		}
		over = append(over, t.Go(func() { t.set(by, 10+i) }))
	}
	t.Trial.join("SetLimit", over...)
	t.notices(1)
	limit, _, err := s.Limit(t.ctx)
	if err != nil || limit < 10 || limit > 15 {
		t.Fatalf("Limit is %d, %s; want one of those that were set", limit, errorOf(err))
	}
	for range 3 {
		t.inUse(t.open(t.Client(), name, 1), limit, 0)
	}
}

// semRaiseEnds: nobody is let in under a limit that nobody keeps, by whomever it
// was seen.
func semRaiseEnds(t sem) {
	idle, holder := t.open(t.Client(), name, 3), t.open(t.Client(), name, 3)
	night, day := t.Client(), t.Client()
	t.set(t.open(night, name, 3), 6)
	t.release(t.take(idle.Want(4)))
	h := t.take(holder.Want(1)) // and says so for as long as it holds
	t.set(t.open(day, name, 3), 4)
	t.release(t.take(idle.Want(3)))
	t.gone(night, day)
	t.notices(0)
	all := t.take(t.want(t.Client(), 2, 3))
	for _, s := range []subject.Counting{idle, holder, t.open(t.Client(), name, 3)} {
		t.busy(s.Want(1), "TryAcquire when all that were configured are held, and a raise of the limit has ended")
	}
	t.inUse(idle, 3, 3)
	t.inUse(t.open(t.Client(), name, 3), 3, 3)
	t.release(h, all)
}

// semLowerEnds: who has waited under the lowered limit is let in as soon as
// anybody, and before who comes.
func semLowerEnds(t sem) {
	a, b, maker := t.Client(), t.Client(), t.Client()
	h := t.take(t.want(a, 2, 10))
	t.set(t.open(maker, name, 10), 2)
	first := t.join(t.ctx, "who waits under the lowered limit", t.want(b, 1, 10), 2)
	second := t.join(t.ctx, "who waits behind it", t.want(t.Client(), 2, 10), 3)
	t.stay([]subject.Hold{h}, first, second)
	t.inUse(t.open(b, name, 10), 2, 2)
	t.gone(maker)
	h1, h2 := t.wins(first), t.wins(second)
	large := t.join(t.ctx, "who wants more than are free", t.want(b, 6, 10), 4)
	t.busy(t.want(t.Client(), 1, 10), "TryAcquire behind who waits")
	t.stay([]subject.Hold{h, h1, h2}, large)
	t.release(h)
	t.release(h1, h2, t.wins(large))
	t.empty()
}

func semLaterChange(t sem) {
	a, b := t.Client(), t.Client()
	t.set(t.open(a, name, 3), 6)
	t.set(t.open(b, name, 3), 2)
	t.notices(1)
	t.limited(3, 2)
	t.gone(b)
	t.settles(func() error { t.notices(0); return nil })
	t.limited(3, 3)
	t.set(t.open(a, name, 3), 5) // it may change it again
	t.limited(3, 5)
}

func semSeveralKeep(t sem) {
	a, b, c := t.Client(), t.Client(), t.Client()
	for _, one := range []*coord.Client{a, b, c} {
		t.set(t.open(one, name, 9), 2)
	}
	for range 3 { // which makes no more of them
		t.set(t.open(a, name, 9), 2)
		t.notices(3)
	}
	t.settles(func() error { t.notices(3); return nil })
	t.gone(c)
	t.limited(9, 2)
	t.gone(a)
	t.limited(9, 2)
	d := t.Client()
	t.set(t.open(d, name, 9), 4)
	t.notices(1)
	t.gone(d)
	t.notices(0)
	t.limited(9, 9)
}

// semComesBack: who was cut off has not heard of the later change.
func semComesBack(t sem) {
	c, l := t.ClientOverLink()
	t.set(t.open(c, name, 3), 6)
	s, err := c.Session(t.ctx)
	if err != nil {
		t.Fatalf("Session: %v", err)
	}
	l.Freeze(netfault.Both)
	other := t.open(t.Client(), name, 3)
	t.set(other, 2)
	if !t.within(t.patience()+t.h.TTL, s.Done()) {
		t.Fatalf("the session of who is cut off does not end")
	}
	t.notices(1) // the other's
	t.heal(l)
	t.Throughout(2*t.lateness()+2*time.Second, func() error { // it tries once a second
		if limit, _, err := other.Limit(t.ctx); err == nil && limit != 2 {
			return fmt.Errorf("the limit is %d when who was cut off is back; want 2, which was set later", limit)
		}
		return nil
	})
	t.notices(1)
	t.limited(3, 2)
}

// semChangeGivenUp: the limit is then what it was before, and not what was
// configured.
func semChangeGivenUp(t sem) {
	kept := t.open(t.Client(), name, 10)
	t.set(kept, 2)
	c, l := t.ClientOverLink()
	t.release(t.take(t.want(c, 1, 10))) // so that there is a session
	l.DropReplies()
	ctx, cancel := context.WithCancel(t.ctx)
	over := t.Go(func() { _ = t.open(c, name, 10).SetLimit(ctx, 5) })
	t.inUse(kept, 5, 0) // it has reached the store, and nobody knows
	cancel()
	t.Trial.join("SetLimit", over)
	t.heal(l)
	t.notices(1)
	t.settles(func() error { t.limited(10, 2); return nil })
}
