package conformance

import (
	"slices"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// semaphoreOf makes the semaphore of a name, for a client that was given a limit.
type semaphoreOf func(c *coord.Client, name string, limit int) subject.Counting

// sem is a trial of a semaphore.
type sem struct {
	arena
	open semaphoreOf
}

// want is to want n permits of limit, for a client that knows nothing yet.
func (t sem) want(c *coord.Client, n, limit int) subject.Want { return t.open(c, name, limit).Want(n) }

// check makes a check of a case of the semaphore's own.
func (open semaphoreOf) check(f func(sem)) func(*Trial) {
	return func(t *Trial) { f(sem{arena{t, "semaphore"}, open}) }
}

// contests are one who has all permits, and one who wants more than half of
// them.
func (open semaphoreOf) contests() contests {
	some := func(n int) func(*coord.Client, string) subject.Want {
		return func(c *coord.Client, name string) subject.Want { return open(c, name, 3).Want(n) }
	}
	return contests{{kind: "semaphore", first: some(3), second: some(2)}}
}

// semaphoreRules are the promises of the semaphore to those who use it.
func semaphoreRules(open semaphoreOf) []Rule {
	session := open.contests().sessionRule("P29")
	session.Cases = append(session.Cases, Case{Name: "a changed limit", Needs: NeedRemoveNode, Check: open.check(semChangeOnSession)})
	costs := open.contests().costRule("P30")
	costs.Cases = append(costs.Cases, Case{Name: "under a raised limit", Check: open.check(semRaiseCosts)})
	return slices.Concat(semaphoreOrderRules(open), semaphoreLimitRules(open), semaphoreFaultRules(open), semaphoreChangeRules(open),
		[]Rule{session, costs})
}

// semaphoreOrderRules are about who comes in when.
func semaphoreOrderRules(open semaphoreOf) []Rule {
	return []Rule{
		{
			ID:   "P1",
			Text: "Never more permits are held than there are, and all who wait are served.",
			Cases: []Case{
				{Name: "many clients and weights", Check: open.check(func(t sem) { semExcludes(t, t.undisturbed()) })},
				{Name: "more than 999 permits", Check: open.check(semLarge)},
				{Name: "an entry that was overwritten", Check: open.check(semOverwritten)},
				{Name: "one let in is slow to say so", Check: open.check(semSlowToSay)},
				{Name: "a storm of tries", Check: open.check(semStorm)},
				{Name: "connections reset", Needs: NeedLink, Check: open.check(func(t sem) { semExcludes(t, t.resets()) })},
				{Name: "replies lost", Needs: NeedLink, Check: open.check(func(t sem) { semExcludes(t, t.losses()) })},
				{Name: "a session lost in a storm", Needs: NeedLink, Check: open.check(semLossInStorm)},
			},
		},
		{
			ID:   "P2",
			Text: "First come, first served: a large request is not overtaken by small ones that would fit.",
			Cases: []Case{
				{Name: "of one process and of several", Check: open.check(semInOrder)},
				{Name: "the large one gives up", Check: open.check(semLargeGivesUp)},
			},
		},
		{
			ID:   "P3",
			Text: "Tokens rise strictly from grant to grant.",
			Cases: []Case{
				{Name: "over an empty line", Check: open.check(func(t sem) { semTokens(t, func() {}) })},
				{Name: "over a removed directory", Needs: NeedRemoveDir, Check: open.check(func(t sem) {
					semTokens(t, func() { t.removeDir(t.dir()) })
				})},
			},
		},
		{
			ID:   "P4",
			Text: "TryAcquire does not wait, is not in before those who wait, and leaves no entry when it fails.",
			Cases: append(open.contests().trying(),
				Case{Name: "too few are free", Check: open.check(semTry)},
				Case{Name: "somebody waits", Check: open.check(semTryBehindWaiter)},
			),
		},
		{
			ID:   "P5",
			Text: "Permits are taken all at once or not at all.",
			Cases: []Case{
				{Name: "two want all", Check: open.check(semTwoWantAll)},
				{Name: "who waits has none", Check: open.check(semWaiterHasNone)},
				{Name: "an acquire within a hold", Check: open.check(semNotReentrant)},
			},
		},
		{
			ID:   "P6",
			Text: "A release wakes those who can now enter and the one behind them, and nobody else.",
			Cases: append(open.contests().waking(),
				Case{Name: "twelve in line", Check: open.check(semWakes)},
				Case{Name: "two that say late that they wait", Check: open.check(func(t sem) { semGatesLate(t, false) })},
				Case{Name: "two of one process that say so late", Check: open.check(func(t sem) { semGatesLate(t, true) })}),
		},
		{
			ID:   "P7",
			Text: "Holders and waiters are listed in order, with who they are and their permits.",
			Cases: []Case{
				{Name: "from a third client", Check: open.check(semContenders)},
				{Name: "under a raised limit that has ended", Check: open.check(semRaiseShows)},
			},
		},
		{
			ID:    "P8",
			Text:  "Two semaphores share a line only if they have the same name.",
			Cases: []Case{{Name: "names that look like parts of others", Check: open.check(semNames)}},
		},
	}
}

// semaphoreLimitRules are about the number of permits.
func semaphoreLimitRules(open semaphoreOf) []Rule {
	return []Rule{
		{
			ID:   "P9",
			Text: "Who was given another limit than those in line finds out and is told both, and whoever holds is within the limit that it was given.",
			Cases: []Case{
				{Name: "one holds", Check: open.check(semMismatch)},
				{Name: "one waits", Check: open.check(semMismatchWaiting)},
				{Name: "one is slow to leave", Check: open.check(semSlowToLeave)},
			},
		},
		{
			ID:   "P10",
			Text: "A request for more than the limit, or under a limit that is none, fails at once, and is in nobody's way.",
			Cases: []Case{
				{Name: "limits out of range", Check: open.check(semNoLimit)},
				{Name: "free and in use", Check: open.check(semTooMany)},
				{Name: "since the limit was lowered", Check: open.check(semTooManyNow)},
			},
		},
		{
			ID:   "P11",
			Text: "The limit can be changed at run time, for all who use the semaphore.",
			Cases: []Case{
				{Name: "raised", Check: open.check(semRaise)},
				{Name: "lowered", Check: open.check(semLower)},
				{Name: "the last change counts", Check: open.check(semLastChange)},
				{Name: "several at once", Check: open.check(semChangesAtOnce)},
				{Name: "heard of late", Check: open.check(semHeardOfLate)},
				{Name: "trouble, at every step", Check: open.check(limitsThrough(trouble()...))},
			},
		},
		{
			ID:   "P12",
			Text: "A lost holder's permits return, all of them, and it is told.",
			Cases: []Case{
				{Name: "ended by the store", Needs: NeedExpire, Check: open.check(semReturnExpired)},
				{Name: "removed by an operator", Needs: NeedRemoveNode, Check: open.check(semReturnRemoved)},
			},
		},
		{
			ID:    "P13",
			Text:  "Do releases whichever way its function ends, and tells of a loss.",
			Cases: open.contests().doing(),
		},
		{
			ID:   "P14",
			Text: "Release is idempotent and retryable, and returns no permit twice or that is not its own.",
			Cases: slices.Concat(
				[]Case{{Name: "again and again", Check: open.check(semReleaseAgain)}},
				open.contests().releasing("while others wait"),
			),
		},
		{
			ID:    "P15",
			Text:  "A holder that is asked to let go hears of it, and nothing else happens to anybody.",
			Cases: open.contests().revocation(),
		},
	}
}

// semaphoreFaultRules are the promises that only a fault puts to the test.
func semaphoreFaultRules(open semaphoreOf) []Rule {
	cs := open.contests()
	return []Rule{
		{
			ID:   "P16",
			Text: "A hold has ended, and its context with it, before anybody else has its permits.",
			Cases: slices.Concat(
				cs.frozen(contestLoss),
				cs.cases("released over a slow link", NeedLink, contestReleaseSlow),
				cs.cases("closed", 0, contestClosed),
			),
		},
		{
			ID:    "P17",
			Text:  "A wait ends with its ctx, also while entries ahead come and go, and leaves no entry.",
			Cases: cs.givingUp(),
		},
		{
			ID:    "P18",
			Text:  "Every call ends with its ctx while the link is frozen.",
			Cases: append(cs.frozen(contestCtx), open.limitFrozen()...),
		},
		{
			ID:    "P19",
			Text:  "A lost reply or a late request leaves no entry and takes no permit, and no caller takes an old entry for its own.",
			Cases: cs.losingReplies(),
		},
		{
			ID:    "P20",
			Text:  "A holder or waiter whose entry an operator removes is told.",
			Cases: cs.removing("a waiter, then the holder"),
		},
		cs.foreignRule("P21"),
		{
			ID:    "P22",
			Text:  "A waiter that is suspended, or loses its connection, keeps its place in line and is woken.",
			Cases: cs.reconnecting(),
		},
		cs.wrapRule("P23"),
		{
			ID:   "P24",
			Text: "A waiter whose session is lost fails, and closing a client ends its holds and waits and leaves nothing.",
			Cases: slices.Concat(
				cs.losingSession(),
				cs.closing("while holding and waiting"),
			),
		},
		cs.residueRule("P25"),
	}
}
