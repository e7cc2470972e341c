package queue

import "github.com/coordkit/coordkit/coord/driver"

// Rule says what the entry line[own] waits for. It is a pure function, and does not change
// its arguments. An entry that holds stays a holder, so what joins later must not block it.
type Rule func(line []driver.Node, own int) Verdict

// Verdict is a Rule's answer. The zero Verdict lets the entry hold.
type Verdict struct {
	// Blocked: the entry cannot hold yet. The rule is asked again when Blocker is gone
	// or, if Blocker is the zero Node, whenever the line has changed.
	Blocked bool
	Blocker driver.Node

	// Before, if it has a Key, is the entry that stands between Blocker and its turn. A
	// driver.AnyWaiter waits for it too, and the line is listed when it is gone: Blocker may
	// be the Last then. A rule that names Before looks at no entry behind its own.
	Before driver.Node

	// Last: nothing but Blocker is in the way. Its deletion is the grant.
	Last bool

	// Exclusive: the deletion of a Blocker that has held is the grant too.
	Exclusive bool

	// Refused says why the entry can never hold. Acquire returns it.
	Refused error

	// Granted: the entry holds, although it would be blocked or refused if it came now.
	// Only Contenders looks at it.
	Granted bool

	// Aside: the node is not a contender. Contenders skips it.
	Aside bool
}

// OneByOne is the rule of a mutex: each entry waits for the one ahead. It needs no data.
func OneByOne(line []driver.Node, own int) Verdict {
	if own == 0 {
		return Verdict{}
	}
	v := Verdict{Blocked: true, Blocker: line[own-1], Last: own == 1, Exclusive: true}
	if own > 1 {
		v.Before = line[own-2]
	}
	return v
}
