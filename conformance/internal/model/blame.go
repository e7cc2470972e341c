package model

import (
	"errors"

	"github.com/coordkit/coordkit/coord/driver"
)

// blame names the rule that a view breaks. A list that is wrong for a moment is
// the fault of who listed; one that stays wrong is that of who wrote.
func (j *judge) blame(v *view, n *life, w flaw) {
	switch w {
	case absent:
		rule, why := j.missing(v, n)
		j.breaks(rule, v.call, "it does not show %s, made by %s: %s", n, names(n.makers), why)
	case unborn:
		j.breaks("C1", v.call, "it shows %s before %s made it", n, names(n.makers))
	case dead:
		why := n.why
		rule := v.rule
		switch {
		case why.Op == WaitDelete:
			rule = "W2"
		case why.Op == WaitAny:
			rule = "F2"
		case j.lasting(n, nil):
			rule = removalRule(why)
		}
		j.breaks(rule, v.call, "it shows %s, which was gone: %s", n, j.tells(why, n))
	case outworn:
		j.outworn(v, n)
	}
}

// tells says how a call told that a node is gone.
func (j *judge) tells(c *Call, n *life) string {
	switch c.Op {
	case Delete, Abandon, RemoveNode, RemoveDir:
		return c.Name + " had removed it"
	case WaitDelete, WaitAny:
		return c.Name + " said so"
	case Update:
		return c.Name + " said ErrGone"
	case Create, CreateList:
		return c.Name + " had made another in its slot"
	}
	return c.Name + " did not show it any more"
}

// removalRule is the rule of a removal that did not last.
func removalRule(c *Call) string {
	switch c.Op {
	case Delete:
		return "U2"
	case Abandon:
		return "C4"
	case Create, CreateList:
		return "C2"
	}
	return "U4"
}

// missing says why a node should have been shown.
func (j *judge) missing(v *view, n *life) (rule, why string) {
	if n == v.made {
		return v.rule, "it made it itself, and nothing had removed it"
	}
	for _, s := range n.sights {
		if s.lo > v.hi || s.hi > v.hi && s.call.Op == ConnList { // it was there afterwards
			if v.rule == "L3" && (v.by != n.session || n.acked > v.call.Begin) && j.proved(v, n) {
				return "L3", "nothing had removed it, and its Seq is lower than that of others"
			}
			return v.rule, "nothing had removed it, and " + s.call.Name + " shows it later"
		}
	}
	if s := n.session; s.lost() || s.closing != nil && s.closing.Begin < v.hi {
		return "S1", "Done of its session " + s.Name + " was still open"
	}
	for _, c := range j.h.Calls {
		if c.Begin > v.hi || (c.ok() || c.void()) && c.end() < n.bornFrom {
			continue // its request cannot have come through late
		}
		switch {
		case c.Op == Abandon && c.Session == n.session && c.Dir == n.Dir && c.ID == n.ID:
			return "C4", "after its making " + c.Name + ", made before, must not touch it"
		case c.Op == Delete && c.Nodes[0].Dir == n.Dir:
			return "U2", "nothing had removed it, and " + c.Name + " was for another node"
		case (c.Op == Close || c.Op == Expire) && c.Session != n.session:
			return "S8", "nothing had removed it, and " + c.Name + " ended another session"
		}
	}
	return v.rule, "nothing had removed it"
}

// lasting reports whether the last list of a directory still shows the node, and
// with those data if they are given.
func (j *judge) lasting(n *life, d *Data) bool {
	for _, c := range j.h.Calls {
		if !c.Final || !c.ok() || c.Op != ConnList {
			continue
		}
		for _, m := range c.List {
			if m.same(n.Node) && (d == nil || m.Data == *d) {
				return true
			}
		}
	}
	return false
}

// outworn names the rule that data break.
func (j *judge) outworn(v *view, n *life) {
	d := v.shown[n.Node.ident()].Data
	var by *Call // what had stored the data
	for _, c := range n.writers(d) {
		by = c
	}
	for _, c := range j.h.Calls {
		if c.Op == Update && c.Nodes[0].same(n.Node) && c.void() && c.Data == d && by == nil {
			rule := "E2"
			if errors.Is(c.Err, driver.ErrGone) {
				rule = "U4"
			}
			j.breaks(rule, v.call, "it shows %s with the data of %s, which failed with %q", n, c.Name, c.Err)
			return
		}
	}
	switch {
	case by == nil:
		j.breaks("C8", v.call, "it shows %s with %v, which nobody had stored in it", n, d)
	case j.lasting(n, &d) && !by.ok():
		j.breaks("U5", v.call, "it shows %s with the data of %s, which was given up before a later Update was acknowledged", n, by.Name)
	case j.lasting(n, &d):
		j.breaks("U1", v.call, "it shows %s with the data of %s, and a later Update was acknowledged", n, by.Name)
	default:
		j.breaks(v.rule, v.call, "it shows %s with the data of %s, and a later Update was acknowledged", n, by.Name)
	}
}
