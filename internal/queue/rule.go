package queue

import "github.com/coordkit/coordkit/coord/driver"

// Rule says who blocks whom: given an entry and those ahead of it in the order
// of the line, what does the entry wait for? It is a pure function of its
// arguments.
type Rule func(own driver.Node, ahead []driver.Node) Verdict

// Verdict is a Rule's answer. The zero Verdict means that nothing stands in the
// way: the entry holds.
type Verdict struct {
	// Blocked: the entry has to outlive Blocker before it can hold.
	Blocked bool
	Blocker driver.Node

	// Last: Blocker is all that stands in the way, so that its deletion is the
	// grant and nobody needs to look again.
	Last bool

	// Exclusive: Blocker can have held only when nothing ahead of it was left.
	// If it is known to have held, its deletion is the grant too.
	Exclusive bool
}
