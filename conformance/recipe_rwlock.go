package conformance

import (
	"slices"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// rwlockOf makes the lock of a name.
type rwlockOf func(c *coord.Client, name string) subject.ReadWrite

// rw is a trial of a read-write lock.
type rw struct {
	arena
	open rwlockOf
}

func (t rw) read(c *coord.Client) subject.Want  { return t.open(c, name).Read }
func (t rw) write(c *coord.Client) subject.Want { return t.open(c, name).Write }

// check makes a check of a case of the lock's own.
func (open rwlockOf) check(f func(rw)) func(*Trial) {
	return func(t *Trial) { f(rw{arena{t, "rwlock"}, open}) }
}

// contests are the two ways in which two are in each other's way.
func (open rwlockOf) contests() contests {
	read := func(c *coord.Client, name string) subject.Want { return open(c, name).Read }
	write := func(c *coord.Client, name string) subject.Want { return open(c, name).Write }
	return contests{
		{"a writer, then a reader", "rwlock", write, read},
		{"a reader, then a writer", "rwlock", read, write},
	}
}

// rwlockRules are the promises of the read-write lock to those who use it.
func rwlockRules(open rwlockOf) []Rule {
	return slices.Concat(rwlockOrderRules(open), rwlockHoldRules(open), rwlockFaultRules(open),
		[]Rule{open.contests().sessionRule("R25"), open.contests().costRule("R26")})
}

// rwlockOrderRules are about who comes in when.
func rwlockOrderRules(open rwlockOf) []Rule {
	return []Rule{
		{
			ID:   "R1",
			Text: "A writer holds alone, readers hold together, and all who wait are served.",
			Cases: []Case{
				{Name: "many clients and goroutines", Check: open.check(func(t rw) { rwExcludes(t, t.undisturbed()) })},
				{Name: "connections reset", Needs: NeedLink, Check: open.check(func(t rw) { rwExcludes(t, t.resets()) })},
				{Name: "replies lost", Needs: NeedLink, Check: open.check(func(t rw) { rwExcludes(t, t.losses()) })},
			},
		},
		{
			ID:   "R2",
			Text: "First come, first served, between readers and writers: neither starves.",
			Cases: []Case{
				{Name: "ten of both", Check: open.check(func(t rw) { t.lines("wrrwrwwrrw") })},
				{Name: "every line of four", Check: open.check(func(t rw) { t.lines(everyLine(4)...) })},
			},
		},
		{
			ID:   "R3",
			Text: "A reader's token is above those of the writers before it and below those of the writers behind.",
			Cases: []Case{
				{Name: "over an empty line", Check: open.check(func(t rw) { rwTokens(t, func() {}) })},
				{Name: "over a removed directory", Needs: NeedRemoveDir, Check: open.check(func(t rw) {
					rwTokens(t, func() { t.removeDir(t.dir()) })
				})},
			},
		},
		{
			ID:   "R4",
			Text: "TryRLock and TryLock do not wait, are not in before those who wait, and leave no entry when they fail.",
			Cases: append(open.contests().trying(),
				Case{Name: "a writer holds", Check: open.check(rwTryUnderWriter)},
				Case{Name: "a reader holds", Check: open.check(rwTryUnderReader)},
				Case{Name: "a storm", Check: open.check(rwTryStorm)},
			),
		},
		{
			ID:   "R5",
			Text: "The readers behind one writer are woken together, by it, and nobody else is.",
			Cases: append(open.contests().waking(),
				Case{Name: "it unlocks", Check: open.check(rwWakes)},
				Case{Name: "it gives up", Check: open.check(rwWriterGivesUp)}),
		},
		{
			ID:   "R6",
			Text: "Holders and waiters are listed in order, with who they are and what for.",
			Cases: []Case{
				{Name: "from a third client", Check: open.check(rwContenders)},
				{Name: "while a writer is downgraded", Check: open.check(rwContendersMeanwhile)},
			},
		},
		{
			ID:    "R7",
			Text:  "Two locks share a line only if they have the same name.",
			Cases: []Case{{Name: "names that look like parts of others", Check: open.check(rwNames)}},
		},
	}
}

// rwlockHoldRules are about what one who holds can do with it.
func rwlockHoldRules(open rwlockOf) []Rule {
	return []Rule{
		{
			ID:   "R8",
			Text: "Under a hold's context the lock is re-entered, and not once it is lost.",
			Cases: slices.Concat([]Case{
				{Name: "read in read", Check: open.check(rwReadInRead)},
				{Name: "read and write in write", Check: open.check(rwInWrite)},
				{Name: "lost", Needs: NeedExpire, Check: open.check(rwReentersNoMore)},
			},
				open.contests().reentering(),
			),
		},
		{
			ID:    "R9",
			Text:  "A reader that wants to write is refused at once, and still reads.",
			Cases: []Case{{Name: "alone, with others, and downgraded", Check: open.check(rwUpgrade)}},
		},
		{
			ID:   "R10",
			Text: "Downgrade lets in the readers right behind and no writer, and keeps the token.",
			Cases: []Case{
				{Name: "readers and writers behind", Check: open.check(rwDowngrade)},
				{Name: "the readers leave one by one", Check: open.check(rwDowngradeReadersLeave)},
				{Name: "a writer right behind", Check: open.check(rwDowngradeBeforeWriter)},
				{Name: "under a ctx with a value", Check: open.check(rwDowngradeKeepsValues)},
				{Name: "while it is entered twice", Check: open.check(rwDowngradeRefused)},
				{Name: "the reply lost", Needs: NeedLink, Check: open.check(rwDowngradeLostReply)},
				{Name: "after a loss", Needs: NeedExpire, Check: open.check(rwDowngradeLost)},
				{Name: "its entry removed meanwhile", Needs: NeedRemoveNode, Check: open.check(rwDowngradeRemoved)},
				{Name: "entered meanwhile", Check: open.check(rwDowngradeEntered)},
				{Name: "cut off afterwards", Needs: NeedLink, Check: open.check(rwDowngradedCutOff)},
				{Name: "trouble, at every step", Check: open.check(rwDowngradesThrough(trouble()...))},
				{Name: "the session ends, at every step", Needs: NeedExpire, Check: open.check(rwDowngradesThrough(sessionEnds()...))},
			},
		},
		{
			ID:    "R11",
			Text:  "Do and RDo unlock whichever way their function ends, and tell of a loss.",
			Cases: open.contests().doing(),
		},
		{
			ID:   "R12",
			Text: "Unlock is idempotent and retryable, and never frees another hold.",
			Cases: slices.Concat(
				open.contests().releasing("again and again"),
				open.contests().cases("an inner hold, twice", 0, contestReleaseInner),
			),
		},
		{
			ID:    "R13",
			Text:  "A holder that is asked to let go hears of it, and nothing else happens to anybody.",
			Cases: append(open.contests().revocation(), Case{Name: "a writer downgrades", Check: open.check(rwRevokedDowngrade)}),
		},
	}
}

// rwlockFaultRules are the promises that only a fault puts to the test.
func rwlockFaultRules(open rwlockOf) []Rule {
	cs := open.contests()
	return []Rule{
		{
			ID:   "R14",
			Text: "A hold has ended, and its context with it, before anybody in its way holds.",
			Cases: slices.Concat(
				cs.frozen(contestLoss),
				cs.cases("released over a slow link", NeedLink, contestReleaseSlow),
				cs.cases("closed", 0, contestClosed),
			),
		},
		{
			ID:    "R15",
			Text:  "A wait ends with its ctx, also while entries ahead come and go, and leaves no entry.",
			Cases: cs.givingUp(),
		},
		{
			ID:    "R16",
			Text:  "Every call ends with its ctx while the link is frozen.",
			Cases: append(cs.frozen(contestCtx), perDirection(func(t *Trial, fault func(Link)) { open.check(func(t rw) { rwDowngradeCtx(t, fault) })(t) })...),
		},
		{
			ID:    "R17",
			Text:  "A lost reply or a late request leaves no second entry, and no caller takes an old entry for its own.",
			Cases: cs.losingReplies(),
		},
		{
			ID:   "R18",
			Text: "A holder or waiter whose entry an operator removes is told.",
			Cases: slices.Concat(
				cs.removing("a waiter, then the holder"),
				cs.cases("a hold within a hold", NeedRemoveNode, contestRemovedWithin),
			),
		},
		cs.foreignRule("R19"),
		{
			ID:    "R20",
			Text:  "A waiter that is suspended, or loses its connection, keeps its place in line and is woken.",
			Cases: cs.reconnecting(),
		},
		cs[:1].wrapRule("R21"),
		{
			ID:   "R22",
			Text: "A waiter whose session is lost fails, and closing a client ends its holds and waits and leaves nothing.",
			Cases: slices.Concat(
				cs.losingSession(),
				cs.closing("while holding and waiting"),
			),
		},
		cs.residueRule("R23"),
		{
			ID:    "R24",
			Text:  "A client that the store does not serve tries again at a pace.",
			Cases: cs.pacing(),
		},
	}
}
