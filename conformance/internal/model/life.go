package model

// life is what is known of a node's beginning and end.
type life struct {
	Node
	session *Session
	sights  []sight
	makers  []*Call // the calls that may have made it
	updates []*Call // those that may have changed its data

	bornFrom, bornBy Stamp // it was made between these
	goneFrom         Stamp // nothing had removed it before
	goneBy           Stamp // it was gone by then
	why              *Call // what told so
	ownGone          Stamp // its session was told by then that it is gone
	acked            Stamp // its session was told by then that it was made
}

// sight is when a node was there: at some moment from lo to hi.
type sight struct {
	lo, hi Stamp
	call   *Call
}

// born finds the calls that may have made a node, and when.
//
// In a slot one call follows the other, and an acknowledged one is a fence: no
// request that was sent before it makes a node any more (C2, C4).
func (j *judge) born(n *life) {
	ops := j.slots[slot{n.session, n.Dir, n.ID}]
	n.bornBy, n.goneFrom, n.goneBy, n.ownGone, n.acked = never, never, never, never, never
	first := n.sights[0]
	for _, s := range n.sights {
		n.bornBy = min(n.bornBy, s.hi)
		if s.hi < first.hi {
			first = s
		}
	}
	from, to := 0, len(ops)
	if k := returnedFirst(ops, n); k >= 0 {
		for to, from = k+1, k; from > 0 && !ops[from-1].ok(); from-- {
		}
		n.acked = ops[k].End
	} else {
		for i, c := range ops {
			if c.ok() && c.End < first.lo {
				from = i + 1
			}
			if c.Begin > first.hi {
				to = min(to, i)
			}
		}
	}
	var ruledOut *Call
	for _, c := range ops[from:max(from, to)] {
		if c.creates() && !c.void() {
			n.makers = append(n.makers, c)
		} else if c.creates() {
			ruledOut = c
		}
	}
	if len(n.makers) > 0 {
		n.bornFrom = n.makers[0].Begin
		return
	}
	j.unmade(n, first.call, ruledOut, ops[:from])
}

// returnedFirst is the index of the first call that returned the node, or -1.
func returnedFirst(ops []*Call, n *life) int {
	for i, c := range ops {
		if c.creates() && c.ok() && c.Node.same(n.Node) {
			return i
		}
	}
	return -1
}

func (n Node) same(m Node) bool { return n.Dir == m.Dir && n.Key == m.Key && n.Token == m.Token }

// unmade reports a node that no call can have made.
func (j *judge) unmade(n *life, shown, ruledOut *Call, before []*Call) {
	switch {
	case ruledOut != nil && ruledOut.afterEnd():
		j.breaks("C7", shown, "it shows %s, which %s made after its session %s had ended", n, ruledOut.Name, n.session.Name)
	case ruledOut != nil && ruledOut.TooLong:
		j.breaks("C8", shown, "it shows %s, which %s made although it refused the data", n, ruledOut.Name)
	case ruledOut != nil:
		j.breaks("E2", shown, "it shows %s, which %s made although it failed with %q", n, ruledOut.Name, ruledOut.Err)
	case len(before) == 0:
		j.breaks("C1", shown, "it shows %s, which nobody had asked for", n)
	case before[len(before)-1].Op == Abandon:
		j.breaks("C4", shown, "it shows %s, which was made by a Create before %s abandoned it", n, before[len(before)-1].Name)
	default:
		j.breaks("C2", shown, "it shows %s, a second node of its slot, for which no call was made after %s", n, before[len(before)-1].Name)
	}
}

// ends finds what may have removed a node, and when.
func (j *judge) ends(n *life) {
	j.endsInSlot(n)
	for _, c := range j.h.Calls {
		switch {
		case c.Op == Update && len(c.Nodes) > 0 && c.Nodes[0].same(n.Node) && !c.void():
			n.updates = append(n.updates, c)
		case c.Op == Delete && c.Nodes[0].same(n.Node) && !c.void():
			n.mayGo(c.Begin)
			if c.ok() {
				n.isGone(c.End, c, true)
			}
		case c.Op == RemoveNode && c.Dir == n.Dir && c.Nodes[0].Key == n.Key && c.end() > n.bornFrom:
			n.mayGo(max(c.Begin, n.bornFrom)) // an operator need not tell namesakes apart
			if c.ok() && n.bornBy < c.Begin && c.Nodes[0].same(n.Node) {
				n.isGone(c.End, c, false)
			}
		}
	}
	for _, c := range j.removals[n.Dir] {
		if c.ok() && c.End < n.bornFrom {
			continue
		}
		n.mayGo(max(c.Begin, n.bornFrom))
		if c.ok() && n.bornBy < c.Begin {
			n.isGone(c.End, c, false)
		}
	}
	if s := n.session; s.expired != nil {
		n.mayGo(s.expired.Begin)
	}
	if s := n.session; s.Done != 0 {
		n.mayGo(s.Open + Step/2) // Done is closed before anybody sees the nodes gone (S1)
	}
}

// endsInSlot looks at what was done about the slot after the node was made.
func (j *judge) endsInSlot(n *life) {
	made, maybe, returned := -1, -1, -1 // the first and the last that may have made it, the last that returned it
	ops := j.slots[slot{n.session, n.Dir, n.ID}]
	for i, c := range ops {
		if c == n.makers[0] {
			made = i
		}
		if c == n.makers[len(n.makers)-1] {
			maybe = i
		}
		if c.creates() && c.ok() && c.Node.same(n.Node) {
			returned = i
		}
	}
	for i, c := range ops {
		if c.Op == Abandon && i > max(made, returned) && !c.void() { // what a later Create returned it does not touch
			n.mayGo(c.Begin)
		}
		if c.ok() && i > max(maybe, returned) {
			n.isGone(c.End, c, true)
		}
	}
}

func (n *life) mayGo(at Stamp) { n.goneFrom = min(n.goneFrom, at) }

// isGone notes that the node is gone, and whether its session was told.
func (n *life) isGone(by Stamp, why *Call, own bool) {
	if by < n.goneBy {
		n.goneBy, n.why = by, why
	}
	if own {
		n.ownGone = min(n.ownGone, by)
	}
}
