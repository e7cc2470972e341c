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
			j.toldFirst(c)
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

// toldFirst wants the first of the nodes that were removed with their directory, if
// the driver promises it.
func (j *judge) toldFirst(c *Call) {
	n := j.lives[c.Nodes[c.Index].ident()]
	if !j.h.Caps.Has(driver.CapWaitFirst) || n == nil {
		return
	}
	for i, m := range c.Nodes[:c.Index] {
		earlier := j.lives[m.ident()]
		if earlier == nil || m.Dir != n.Dir {
			continue
		}
		for _, r := range j.removals[n.Dir] {
			if r.ok() && n.goneFrom == r.Begin && j.goesWith(n, r) && earlier.bornBy < r.Begin && r.Begin > c.Begin {
				j.breaks("F2", c, "it returned %d, and the node at %d was removed with it by %s", c.Index, i, r.Name)
				return
			}
		}
	}
}

// goesWith reports whether a removal of its directory is all that can have removed a
// node until the removal had ended.
func (j *judge) goesWith(n *life, r *Call) bool {
	if n.session.Done != 0 && n.session.Open < r.End || n.session.expired != nil && n.session.expired.Begin < r.End {
		return false
	}
	for _, c := range j.h.Calls {
		about := c.Op == Abandon && c.Session == n.session && c.ID == n.ID ||
			(c.Op == Delete || c.Op == RemoveNode) && c.Nodes[0].Key == n.Key || c.Op == RemoveDir && c != r
		if about && c.Dir == n.Dir && c.Begin < r.End && c.end() > n.bornFrom {
			return false
		}
	}
	return true
}

// first judges that a node was said to be the first of its directory (F5).
func (j *judge) first(c *Call) {
	n := j.lives[c.Nodes[0].ident()]
	if n == nil || len(n.makers) == 0 {
		return
	}
	for _, before := range j.h.Calls {
		if before.end() < c.Begin && before.Session == c.Session && j.said(before, n) {
			j.breaks("F5", c, "it is true of %s, and %s had told the session that it is gone", n, before.Name)
			return
		}
	}
	for _, m := range j.order {
		if m.Dir == n.Dir && m.Seq < n.Seq && m.goneFrom > c.End && j.unbroken(m, n) {
			j.breaks("F5", c, "it is true of %s, and %s is ahead of it", n, m)
			return
		}
	}
}

// said reports whether a call told its session that a node is gone.
func (j *judge) said(c *Call, n *life) bool {
	switch c.Op {
	case WaitDelete, Delete:
		return c.ok() && c.Nodes[0].same(n.Node)
	case WaitAny:
		return c.ok() && c.Index >= 0 && c.Index < len(c.Nodes) && c.Nodes[c.Index].same(n.Node)
	case Update:
		return errors.Is(c.Err, driver.ErrGone) && c.Nodes[0].same(n.Node)
	case Abandon:
		return c.ok() && n.session == c.Session && c.Dir == n.Dir && c.ID == n.ID && n.goneBy <= c.End
	}
	return false
}
