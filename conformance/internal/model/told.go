package model

import (
	"errors"

	"github.com/coordkit/coordkit/coord/driver"
)

// told judges what says that a node is gone.
func (j *judge) told() {
	for _, c := range j.h.Calls {
		switch {
		case c.Op == WaitDelete && c.ok():
			j.isTold(c, c.Nodes[0], "W2", "it returned nil")
		case c.Op == WaitAny && c.ok() && (c.Index < 0 || c.Index >= len(c.Nodes)):
			j.breaks("F2", c, "it returned the index %d of %d nodes", c.Index, len(c.Nodes))
		case c.Op == WaitAny && c.ok():
			j.isTold(c, c.Nodes[c.Index], "F2", "it returned the index of the node")
		case c.Op == Update && c.End != 0 && errors.Is(c.Err, driver.ErrGone):
			j.isTold(c, c.Nodes[0], "U1", "it returned ErrGone")
		}
	}
}

func (j *judge) isTold(c *Call, m Node, rule, how string) {
	n := j.lives[m.ident()]
	switch {
	case n == nil || len(n.makers) == 0: // reported
	case n.goneFrom > c.End:
		for _, s := range n.sights {
			if s.lo > c.End {
				j.breaks(rule, c, "%s, and nothing had removed %s: %s still shows it", how, n, s.call.Name)
				return
			}
		}
		if s := n.session; s.lost() {
			rule, how = "S1", how+", and Done of session "+s.Name+" was still open"
		}
		j.breaks(rule, c, "%s, and nothing had removed %s", how, n)
	default:
		n.isGone(c.End, c, false)
	}
}
