package conformance

import (
	"slices"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
)

// Rule is one sentence of the contract and how it is checked.
type Rule struct {
	// ID is the rule's short name, as "S1".
	ID string
	// Text is the rule's sentence, as in the documentation of coord/driver, or, for
	// the rules of recipes, in doc/recipes.md.
	Text string
	// Cases check the rule, each on its own: in a namespace of its own and
	// beside the others. A rule passes if all of its cases do; so a rule that
	// can be checked in part, where a harness lacks a fault, is.
	Cases []Case
}

// Counts reports whether a case of the rule counts what is left in the store.
// Where a harness's Residue counts what others have there too, such a rule is
// to be run when nothing else is: with Options.Parallel 1.
func (r Rule) Counts() bool {
	return slices.ContainsFunc(r.Cases, func(c Case) bool { return c.Needs&NeedResidue != 0 })
}

// Case is one schedule under which a rule is checked.
type Case struct {
	// Name says what is done, in a few words, as "frozen up".
	Name string
	// Needs is what the harness must be able to do.
	Needs Need
	// Check fails the trial if the rule is broken. It is called on a
	// goroutine of its own.
	Check func(*Trial)

	patience time.Duration // by how much the time-out is longer where waiting costs nothing
	soaks    bool          // its time-out is longer by Options.Soak
	idle     bool          // it waits nearly all the time, and so begins beside others, whatever their number
	virtual  bool          // it takes minutes, and so is left out where waiting costs time

	// plain is the same with the plain calls, where Check is about an optional one. If
	// it does not pass either, that is for the rule of the plain calls.
	plain func(*Trial)
}

// Rules returns every rule that the suite has: those of the contract, those of the
// recipes over it, and the random ones. The caller may change the slice.
func Rules() []Rule { return slices.Concat(DriverRules(), RecipeRules(), RandomRules()) }

// RecipeRules returns what the recipes promise to their users, as in
// doc/recipes.md: a driver that keeps its contract is one on which they hold.
// The caller may change the slice.
func RecipeRules() []Rule {
	return slices.Concat(
		mutexRules(),
		mutexContestRules(subject.Mutex),
		rwlockRules(subject.RWLock),
		semaphoreRules(subject.Semaphore),
		electionRules(subject.Election),
	)
}

// RandomRules returns the rules under which nothing in particular is done: random
// sequences of everything that can be done, judged by all that is promised. The
// caller may change the slice.
func RandomRules() []Rule { return slices.Concat(callRules(), programRules()) }

// DriverRules returns the rules of the contract of package coord/driver, in
// its order. The caller may change the slice.
func DriverRules() []Rule {
	return slices.Concat(
		ctxRules(),
		sessionRules(),
		closeRules(),
		openingRules(),
		createRules(),
		slotRules(),
		dataRules(),
		listRules(),
		orderRules(),
		waitRules(),
		waitEndRules(),
		updateRules(),
		errorRules(),
		paceRules(),
		fastRules(),
		watchRules(),
		capsRules(),
		leftoverRules(),
	)
}
