package queue

import "github.com/coordkit/coordkit/coord/driver"

// Rule says who blocks whom: given a line in its order, and the index in it of
// an entry, what does the entry wait for? It is a pure function of its
// arguments, which it does not change.
type Rule func(line []driver.Node, own int) Verdict

// Verdict is a Rule's answer. The zero Verdict means that nothing stands in the
// way: the entry holds. An entry that holds is never blocked again: a rule must
// not let what comes later get in its way.
type Verdict struct {
	// Blocked: the entry cannot hold yet. It looks again when Blocker is gone,
	// or, where no single deletion tells, and Blocker is the zero Node, at
	// every change of the line.
	Blocked bool
	Blocker driver.Node

	// Last: Blocker is all that stands in the way, so that its deletion is the
	// grant and nobody needs to look again.
	Last bool

	// Exclusive: Blocker can have held only when nothing ahead of it was left.
	// If it is known to have held, its deletion is the grant too.
	Exclusive bool

	// Refused says why the entry can never hold.
	Refused error

	// Granted: the entry would be blocked or refused if it came now, and was let
	// in before. It is for those who look at the line; nobody is let in by it.
	Granted bool

	// Aside: the node is no contender, but serves one.
	Aside bool
}

// OneByOne is the rule of what one has at a time: each waits for the one right
// ahead, whose release tells nobody else (but see Entry.looksAhead). It needs names
// only.
func OneByOne(line []driver.Node, own int) Verdict {
	if own == 0 {
		return Verdict{}
	}
	return Verdict{Blocked: true, Blocker: line[own-1], Last: own == 1, Exclusive: true}
}
