package conformance

import (
	"context"
	"errors"
	"slices"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord"
)

// mutexContestRules are the promises of the mutex that it shares with the other
// recipes, on any mutex.
func mutexContestRules(open func(*coord.Client, string) subject.Want) []Rule {
	cs := contests{{kind: "mutex", first: open, second: open}}
	return slices.Concat(mutexFaultRules(cs), mutexEndRules(cs), mutexLineRules(cs), []Rule{cs.sessionRule("M25"), cs.wakeRule("M26"), cs.costRule("M27")})
}

// mutexFaultRules are those about what is lost, late or given up.
func mutexFaultRules(cs contests) []Rule {
	return []Rule{
		{
			ID:   "M8",
			Text: "A hold has ended, and its context with it, before anybody else has the lock.",
			Cases: slices.Concat(
				cs.frozen(contestLoss),
				cs.cases("released over a slow link", NeedLink, contestReleaseSlow),
				cs.cases("closed", 0, contestClosed),
			),
		},
		{
			ID:    "M9",
			Text:  "A wait ends with its ctx, also while entries ahead come and go, and leaves no entry.",
			Cases: cs.givingUp(),
		},
		{
			ID:    "M10",
			Text:  "A lost reply or a late request leaves no second entry, and no caller takes an old entry for its own.",
			Cases: cs.losingReplies(),
		},
		{
			ID:   "M11",
			Text: "Unlock is idempotent and retryable, and never frees a later hold.",
			Cases: slices.Concat(
				cs.releasing("again and again"),
				cs.cases("an inner hold, twice", 0, contestReleaseInner),
			),
		},
		{
			ID:   "M12",
			Text: "Under a hold's context the lock is re-entered, and not once it is lost.",
			Cases: slices.Concat(
				cs.cases("held", 0, reenters),
				cs.cases("lost", NeedExpire, reentersNoMore),
				cs.reentering(),
			),
		},
		{
			ID:   "M13",
			Text: "A holder or waiter whose entry an operator removes is told.",
			Cases: slices.Concat(
				cs.removing("a waiter, then the holder"),
				cs.cases("a hold within a hold", NeedRemoveNode, contestRemovedWithin),
			),
		},
	}
}

// mutexEndRules are those about how calls and clients end.
func mutexEndRules(cs contests) []Rule {
	return []Rule{
		cs.foreignRule("M14"),
		{
			ID:    "M15",
			Text:  "Every call ends with its ctx while the link is frozen.",
			Cases: cs.frozen(contestCtx),
		},
		{
			ID:    "M16",
			Text:  "Do unlocks whichever way its function ends, and tells of a loss.",
			Cases: cs.doing(),
		},
		{
			ID:    "M17",
			Text:  "A waiter whose session is lost fails, and is never granted the lock.",
			Cases: cs.losingSession(),
		},
		{
			ID:    "M18",
			Text:  "Closing a client ends its holds and waits and leaves nothing.",
			Cases: cs.closing("while holding and waiting"),
		},
		{
			ID:    "M19",
			Text:  "A holder that is asked to let go of a lock hears of it, who asked and why, and nothing else happens to anybody.",
			Cases: cs.revocation(),
		},
	}
}

// mutexLineRules are those about the line as such.
func mutexLineRules(cs contests) []Rule {
	return []Rule{
		{
			ID:    "M20",
			Text:  "A waiter that is suspended, or loses its connection, keeps its place in line and is woken.",
			Cases: cs.reconnecting(),
		},
		cs.wrapRule("M21"),
		cs.residueRule("M22"),
		{
			ID:   "M23",
			Text: "A holder that is cut off has the promised margin to stop before another client has the lock: min(TTL/10, max(1 s, TTL/50)).",
			Cases: slices.Concat(
				cs.cases("cut off", NeedLink, func(d duel) { contestMargin(d, netfault.Both) }),
				cs.cases("replies cut off", NeedLink, func(d duel) { contestMargin(d, netfault.Down) }),
			),
		},
		{
			ID:    "M24",
			Text:  "A client that the store does not serve tries again at a pace.",
			Cases: cs.pacing(),
		},
	}
}

// entered wants an acquire under a hold's context to have given a hold of the same.
func (a arena) entered(h subject.Hold, err error, outer subject.Hold, what string) subject.Hold {
	if err != nil || h.Token() != outer.Token() {
		a.Fatalf("%s returned %s; want a hold with token %d", what, result(h, err), outer.Token())
	}
	return h
}

func reenters(d duel) {
	w := d.one(d.Client())
	outer := d.take(w)
	for _, again := range []func(context.Context) (subject.Hold, error){w.Acquire, w.Try} {
		inner, err := again(outer.Context())
		d.entered(inner, err, outer, "an acquire under a hold's context")
		d.entries(1)
		d.release(inner)
		d.entries(1)
		d.holds(outer)
	}
	d.release(outer)
	d.empty()
}

func reentersNoMore(d duel) {
	w := d.one(d.Client())
	held := d.take(w)
	d.expire(held.Session().Driver())
	if !d.within(d.h.Expiry, held.Done()) {
		d.Fatalf("the hold outlives its session")
	}
	other := d.take(d.other(d.Client()))
	if _, err := w.Acquire(context.WithoutCancel(held.Context())); !errors.Is(err, coord.ErrNotHeld) {
		d.Fatalf("re-entering a lost lock returned %s; want ErrNotHeld", errorOf(err))
	}
	d.release(other)
}
