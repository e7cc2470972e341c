package conformance

import "slices"

// These are the cases and rules that several recipes share, by topic. Where the cases
// belong to rules with different texts, only the cases are here.

// givingUp is about waiters that give up.
func (cs contests) givingUp() []Case {
	return slices.Concat(
		cs.cases("in the middle of the line", 0, contestGiveUp),
		cs.churning(),
	)
}

// churning is about waiters that come and go.
func (cs contests) churning() []Case {
	return slices.Concat(
		cs.cases("those ahead come and go", 0, contestChurn),
		cs.acquiresAtEveryStep("given up", 0, givenUp()...),
	)
}

// losingReplies is about acquires whose reply is lost or whose request is late.
func (cs contests) losingReplies() []Case {
	return slices.Concat(
		cs.cases("replies lost", NeedLink, contestLostReply),
		cs.cases("replies lost while it waits", NeedLink, contestLostReplyWaiting),
		cs.cases("a reply lost and then the session", NeedLink|NeedExpire, contestLostReplyAndSession),
		cs.cases("a reply lost and then the store", 0, contestLostReplyAndStore),
		cs.cases("given up while the request is held", NeedLink, contestLateRequest),
		cs.cases("given up, and back at once", NeedLink, contestBackAtOnce),
		cs.cases("given up, and clearing up is refused", 0, contestClearsUpLater),
		cs.acquiresAtEveryStep("a request lost", 0, whenRequestLost),
		cs.acquiresAtEveryStep("a reply lost", 0, whenReplyLost),
		cs.acquiresAtEveryStep("refused", 0, whenRefused),
	)
}

// releasing is about releases that fail or are repeated. again names the case of the
// plain repetition.
func (cs contests) releasing(again string) []Case {
	return slices.Concat(
		cs.cases(again, 0, contestReleaseAgain),
		cs.cases("given up while the link is frozen", NeedLink, contestReleaseLate),
		cs.cases("under a ctx that has ended", 0, contestReleaseDead),
		cs.cases("under its own context", NeedLink, contestReleaseOwn),
		cs.cases("again while the first is on its way", NeedLink, contestReleaseTwice),
		cs.cases("given up, and then the session ends", NeedLink, contestReleaseLost),
		cs.cases("an operator's removal is being looked into", NeedRemoveNode, contestReleaseWhileAsked),
		cs.releasesAtEveryStep("trouble", 0, trouble()...),
		cs.releasesAtEveryStep("the session ends", NeedExpire, sessionEnds()...),
	)
}

// reentering is about acquires under the context of a hold.
func (cs contests) reentering() []Case {
	return slices.Concat(
		cs.cases("for other locks and by other clients", 0, contestReenterOutside),
		cs.cases("released, and under a ctx that has ended", 0, contestReenterEnded),
		cs.cases("another lock within is lost", NeedRemoveDir, contestReenterLostWithin),
		cs.cases("while it is released", 0, contestReenterWhileReleased),
	)
}

// removing is about an operator who removes entries. first names the case of the removal
// of single ones.
func (cs contests) removing(first string) []Case {
	return slices.Concat(
		cs.cases(first, NeedRemoveNode, contestRemoved),
		cs.cases("the whole line", NeedRemoveDir, contestRemovedDir),
		cs.cases("of one process", NeedRemoveNode, contestRemovedOfOne),
		cs.cases("and back before the store says why", NeedRemoveNode, contestLateQuestion),
		cs.cases("given up before the store says why", NeedRemoveNode, contestQuestionGivenUp),
		cs.cases("and the store never says why", NeedRemoveNode, contestQuestionUnanswered),
		cs.cases("and the session ends meanwhile", NeedRemoveNode|NeedExpire, contestQuestionLost),
		cs.cases("after its wait was broken", NeedRemoveNode, contestRemovedAfterBreak),
		cs.acquiresAtEveryStep("removed", NeedRemoveNode, whenRemoved),
	)
}

// doing is about Do.
func (cs contests) doing() []Case {
	return slices.Concat(
		cs.cases("an error and a panic", 0, contestDo),
		cs.cases("the end of its goroutine", 0, contestDoGoexit),
		cs.cases("a loss", NeedExpire, contestDoLost),
	)
}

// losingSession is about waiters whose session ends.
func (cs contests) losingSession() []Case {
	return slices.Concat(
		cs.cases("ended by the store", NeedExpire, contestSessionLost),
		cs.acquiresAtEveryStep("ended by the store", NeedExpire, sessionEnds()...),
	)
}

// closing is about clients that are closed. busy names the case of one that holds and
// waits.
func (cs contests) closing(busy string) []Case {
	return slices.Concat(
		cs.cases(busy, 0, contestClose),
		cs.cases("at any time", NeedLink, contestCloseAnytime),
	)
}

// reconnecting is about waiters that were suspended or cut off.
func (cs contests) reconnecting() []Case {
	return slices.Concat(
		cs.cases("suspended when it is its turn", NeedLink, contestSuspended),
		cs.cases("all reconnect together", NeedLink, contestReconnect),
		cs.cases("out of reach before and after it joined", 0, contestAwayTwice),
	)
}

// pacing is about how often a client tries again.
func (cs contests) pacing() []Case {
	return slices.Concat(
		cs.cases("out of reach", 0, contestPace),
		cs.cases("out of reach once more", 0, contestPaceAnew),
		cs.cases("removed again and again", NeedRemoveDir, contestPaceRemoved),
	)
}

// foreignRule is about keys in the line that are not of the driver's making.
func (cs contests) foreignRule(id string) Rule {
	return Rule{
		ID:    id,
		Text:  "Foreign keys in a line are in nobody's way.",
		Cases: cs.cases("before and behind", NeedPlantForeign, contestForeign),
	}
}

// wrapRule is about a counter of the store that wraps.
func (cs contests) wrapRule(id string) Rule {
	return Rule{
		ID:    id,
		Text:  "The order of a line survives the wrap of the store's counter.",
		Cases: cs.cases("across the wrap", NeedNearWrap, contestWrap),
	}
}

// residueRule is about what is left when the clients are closed.
func (cs contests) residueRule(id string) Rule {
	return Rule{
		ID:   id,
		Text: "After its clients are closed nothing is left in the store or the process.",
		Cases: append(cs.cases("after much ado", NeedResidue, contestResidue),
			cs.cases("what calls leave with their ctx", 0, contestLeavesNothingWithCtx)...),
	}
}
