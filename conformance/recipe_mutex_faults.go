package conformance

import (
	"context"
	"errors"
	"slices"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// mutexContestRules are the promises of the mutex that it shares with the other
// recipes, on any mutex.
func mutexContestRules(open func(*coord.Client, string) subject.Want) []Rule {
	cs := contests{{kind: "mutex", first: open, second: open}}
	return slices.Concat(mutexFaultRules(cs), mutexEndRules(cs), mutexLineRules(cs), []Rule{cs.sessionRule("M25")})
}

// mutexFaultRules are those about what is lost, late or given up.
func mutexFaultRules(cs contests) []Rule {
	return []Rule{
		{
			ID:    "M8",
			Text:  "A hold has ended, and its context with it, before anybody else has the lock.",
			Cases: slices.Concat(cs.frozen(contestLoss), cs.cases("released over a slow link", NeedLink, contestReleaseSlow)),
		},
		{
			ID:   "M9",
			Text: "Waits end with their ctx, whoever comes and goes ahead, and leave no entry.",
			Cases: slices.Concat(
				cs.cases("in the middle of the line", 0, contestGiveUp),
				cs.cases("those ahead come and go", 0, contestChurn),
				cs.acquiresAtEveryStep("given up", 0, whenGivenUpBefore, whenGivenUpAfter),
			),
		},
		{
			ID:   "M10",
			Text: "A lost reply or a late request leaves no second entry, and no old entry is taken for one's own.",
			Cases: slices.Concat(
				cs.cases("replies lost", NeedLink, contestLostReply),
				cs.cases("replies lost while it waits", NeedLink, contestLostReplyWaiting),
				cs.cases("a reply lost and then the session", NeedLink|NeedExpire, contestLostReplyAndSession),
				cs.cases("given up while the request is held", NeedLink, contestLateRequest),
				cs.cases("given up, and back at once", NeedLink, contestBackAtOnce),
				cs.acquiresAtEveryStep("a request lost", 0, whenRequestLost),
				cs.acquiresAtEveryStep("a reply lost", 0, whenReplyLost),
				cs.acquiresAtEveryStep("refused", 0, whenRefused),
			),
		},
		{
			ID:   "M11",
			Text: "Unlock is idempotent and retryable, and never frees a later hold.",
			Cases: slices.Concat(
				cs.cases("again and again", 0, contestReleaseAgain),
				cs.cases("given up while the link is frozen", NeedLink, contestReleaseLate),
				cs.cases("under a ctx that has ended", 0, contestReleaseDead),
				cs.cases("under its own context", NeedLink, contestReleaseOwn),
				cs.cases("again while the first is on its way", NeedLink, contestReleaseTwice),
				cs.cases("an inner hold, twice", 0, contestReleaseInner),
				cs.cases("an operator's removal is being looked into", NeedRemoveNode, contestReleaseWhileAsked),
				cs.releasesAtEveryStep("trouble", 0, trouble()...),
				cs.releasesAtEveryStep("the session ends", NeedExpire, whenEndedBefore, whenEndedAfter),
			),
		},
		{
			ID:   "M12",
			Text: "Under a hold's context the lock is re-entered, and not once it is lost.",
			Cases: slices.Concat(
				cs.cases("held", 0, reenters),
				cs.cases("lost", NeedExpire, reentersNoMore),
				cs.cases("for other locks and by other clients", 0, contestReenterOutside),
				cs.cases("released, and under a ctx that has ended", 0, contestReenterEnded),
				cs.cases("another lock within is lost", NeedRemoveDir, contestReenterLostWithin),
				cs.cases("while it is released", 0, contestReenterWhileReleased),
			),
		},
		{
			ID:   "M13",
			Text: "Whoever's entry an operator removes is told, as holder and as waiter.",
			Cases: slices.Concat(
				cs.cases("a waiter, then the holder", NeedRemoveNode, contestRemoved),
				cs.cases("the whole line", NeedRemoveDir, contestRemovedDir),
				cs.cases("of one process", NeedRemoveNode, contestRemovedOfOne),
				cs.cases("a hold within a hold", NeedRemoveNode, contestRemovedWithin),
				cs.cases("and back before the store says why", NeedRemoveNode, contestLateQuestion),
				cs.cases("given up before the store says why", NeedRemoveNode, contestQuestionGivenUp),
			),
		},
	}
}

// mutexEndRules are those about how calls and clients end.
func mutexEndRules(cs contests) []Rule {
	return []Rule{
		{
			ID:    "M14",
			Text:  "Foreign keys in a line are in nobody's way.",
			Cases: cs.cases("before and behind", NeedPlantForeign, contestForeign),
		},
		{
			ID:    "M15",
			Text:  "Every call ends with its ctx while the link is frozen.",
			Cases: cs.frozen(contestCtx),
		},
		{
			ID:   "M16",
			Text: "Do unlocks whichever way its function ends, and tells of a loss.",
			Cases: slices.Concat(
				cs.cases("an error and a panic", 0, contestDo),
				cs.cases("the end of its goroutine", 0, contestDoGoexit),
				cs.cases("a loss", NeedExpire, contestDoLost),
			),
		},
		{
			ID:   "M17",
			Text: "A waiter whose session is lost fails, and is never granted the lock.",
			Cases: slices.Concat(
				cs.cases("ended by the store", NeedExpire, contestSessionLost),
				cs.acquiresAtEveryStep("ended by the store", NeedExpire, whenEndedBefore, whenEndedAfter),
			),
		},
		{
			ID:   "M18",
			Text: "Closing a client ends its holds and waits and leaves nothing.",
			Cases: slices.Concat(
				cs.cases("while holding and waiting", 0, contestClose),
				cs.cases("at any time", NeedLink, contestCloseAnytime),
			),
		},
		{
			ID:    "M19",
			Text:  "Who is asked to let go of a lock hears of it, who asked and why, and nothing else happens to anybody.",
			Cases: cs.revocation(),
		},
	}
}

// mutexLineRules are those about the line as such.
func mutexLineRules(cs contests) []Rule {
	return []Rule{
		{
			ID:   "M20",
			Text: "Who is suspended, or loses the connection, keeps the place in line and is woken.",
			Cases: slices.Concat(
				cs.cases("suspended when it is its turn", NeedLink, contestSuspended),
				cs.cases("all reconnect together", NeedLink, contestReconnect),
			),
		},
		{
			ID:    "M21",
			Text:  "The order of a line survives the wrap of the store's counter.",
			Cases: cs.cases("across the wrap", NeedNearWrap, contestWrap),
		},
		{
			ID:    "M22",
			Text:  "After its clients are closed nothing is left in the store or the process.",
			Cases: cs.cases("after much ado", NeedResidue, contestResidue),
		},
		{
			ID:    "M23",
			Text:  "Whoever is cut off has the promised margin to stop before anybody else has the lock: min(TTL/10, max(1 s, TTL/50)).",
			Cases: cs.cases("cut off", NeedLink, contestMargin),
		},
		{
			ID:   "M24",
			Text: "A client that the store does not serve tries again at a pace.",
			Cases: slices.Concat(
				cs.cases("out of reach", 0, contestPace),
				cs.cases("out of reach once more", 0, contestPaceAnew),
				cs.cases("removed again and again", NeedRemoveDir, contestPaceRemoved),
			),
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
