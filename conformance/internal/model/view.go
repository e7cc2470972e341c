package model

import "slices"

// view is what a call or a watch showed of a directory. It is right if there is a
// moment from lo to hi at which the directory was so (L1).
type view struct {
	call   *Call
	nodes  []Node
	lo, hi Stamp
	by     *Session // whose own acknowledged writes it holds (L3); nil: an observer's
	made   *life    // what the call itself has made
	rule   string   // is broken if it shows what was once and is not so any more
	shown  map[ident]Node
	proof  []*life // that were there, and with them all that have a lower Seq
}

// views judges all of them in the order in which they were shown, as one that is
// up to date tells of nodes that are gone.
func (j *judge) views() {
	var all []*view
	for _, c := range j.h.Calls {
		if !c.ok() && c.Op != Watch {
			continue
		}
		v := &view{call: c, nodes: c.List, lo: c.Begin, hi: c.End, by: c.Session}
		switch c.Op {
		case ConnList:
			v.rule = "L5"
		case List:
			v.lo, v.rule = j.behind(c), "L3"
		case ListNames:
			v.lo, v.rule = j.behind(c), "F4"
		case CreateList:
			v.lo, v.rule = j.behind(c), "F1"
			if v.made = j.lives[c.Node.ident()]; v.made != nil {
				v.lo = max(v.lo, v.made.bornFrom)
			}
		case Watch:
			for _, s := range c.States {
				all = append(all, &view{call: c, nodes: s.Nodes, lo: c.Begin, hi: s.Stamp, rule: "V1"})
			}
			continue
		default:
			continue
		}
		all = append(all, v)
	}
	slices.SortStableFunc(all, func(a, b *view) int { return int(a.hi - b.hi) })
	watches := make(map[*Call]*watched)
	for _, v := range all {
		w := watches[v.call]
		if v.call.Op == Watch && w != nil {
			v.lo, v.rule = max(v.lo, w.at), "V2"
			j.returns(v, w)
		}
		at, ok := j.look(v)
		if v.call.Op == Watch && ok {
			watches[v.call] = w.then(v, at)
		}
	}
}

// watched is what a watch has shown.
type watched struct {
	at   Stamp // of the last state: the next is no older
	last map[ident]Node
	left map[ident]bool   // was shown, and then no more
	was  map[ident][]Data // what was shown and then replaced
}

// then is what a watch has shown when it shows one state more.
func (w *watched) then(v *view, at Stamp) *watched {
	if w == nil {
		w = &watched{left: make(map[ident]bool), was: make(map[ident][]Data)}
	}
	for i, n := range w.last {
		if m, shown := v.shown[i]; !shown {
			w.left[i] = true
		} else if m.Data != n.Data {
			w.was[i] = append(w.was[i], n.Data)
		}
	}
	w.at, w.last = at, v.shown
	return w
}

// returns reports what a watch shows again after it was gone or replaced (V2).
func (j *judge) returns(v *view, w *watched) {
	for _, n := range v.nodes {
		l := j.lives[n.ident()]
		switch {
		case w.left[n.ident()]:
			j.breaks("V2", v.call, "it shows %s again, which it had shown to be gone", n)
		case l != nil && slices.Contains(w.was[n.ident()], n.Data) && len(l.writers(n.Data)) < 2:
			j.breaks("V2", v.call, "it shows %s again with %v, which it had shown to be replaced", n, n.Data)
		}
	}
}

// writers are the calls that may have given a node its data.
func (n *life) writers(d Data) (found []*Call) {
	for _, c := range slices.Concat(n.makers, n.updates) {
		if c.Data == d {
			found = append(found, c)
		}
	}
	return found
}

func (n Node) ident() ident { return ident{n.Dir, n.Key, n.Token} }

// behind is how old a list of a session may be: it is no older than the session's
// own acknowledged writes.
func (j *judge) behind(c *Call) (lo Stamp) {
	for _, n := range j.order {
		if n.session != c.Session || n.Dir != c.Dir {
			continue
		}
		if n.acked < c.Begin {
			lo = max(lo, n.bornFrom)
		}
		for _, u := range n.updates {
			if u.ok() && u.End < c.Begin {
				lo = max(lo, u.Begin)
			}
		}
	}
	return lo
}

// look judges a view, and returns the earliest moment at which it was so.
func (j *judge) look(v *view) (at Stamp, ok bool) {
	if !j.whole(v) {
		return 0, false
	}
	var of []*life
	for _, n := range j.order {
		if n.Dir != v.call.Dir {
			continue
		}
		of = append(of, n)
		if _, shown := v.shown[n.Node.ident()]; shown || n == v.made || v.by != nil && n.session == v.by && n.acked < v.call.Begin {
			v.proof = append(v.proof, n)
		}
	}
	best, least := v.hi, 2*len(of)+1 // the moment at which it is least wrong
	for at := v.lo; at <= v.hi; at++ {
		wrong := 0
		for _, n := range of {
			switch j.wrong(v, n, at) {
			case right:
			case unborn: // an earlier moment explains less
				wrong += 2
			default:
				wrong++
			}
		}
		if wrong == 0 {
			j.teach(v, of)
			return at, true
		}
		if wrong <= least {
			best, least = at, wrong
		}
	}
	for _, n := range of {
		if w := j.wrong(v, n, best); w != right {
			j.blame(v, n, w)
			break
		}
	}
	return 0, false
}

// whole checks what a list of any moment is like.
func (j *judge) whole(v *view) bool {
	v.shown = make(map[ident]Node, len(v.nodes))
	used := make(map[slot]bool, len(v.nodes))
	for i, n := range v.nodes {
		at := slot{j.sessions[n.Session], n.Dir, n.ID}
		switch {
		case n.Dir != v.call.Dir:
			j.breaks(v.call.listRule(), v.call, "it shows %s, whose directory is %q", n, n.Dir)
			return false
		case i > 0 && v.nodes[i-1].Seq >= n.Seq:
			j.breaks(v.call.listRule(), v.call, "it shows %s before %s, which is not the order of Seq", v.nodes[i-1], n)
			return false
		case at.session != nil && used[at]:
			j.breaks("C2", v.call, "it shows two nodes of one slot, of which %s is the second", n)
			return false
		}
		used[at] = true
		v.shown[n.ident()] = n
	}
	return true
}

// flaw is what is wrong with a node in a view.
type flaw int

const (
	right   flaw = iota
	absent       // it is not shown and was there
	dead         // it is shown and was gone
	unborn       // it is shown and was not there yet
	outworn      // it is shown with data that were replaced, or are not its own
)

// wrong says whether a node is shown as it was at a moment.
func (j *judge) wrong(v *view, n *life, at Stamp) flaw {
	m, shown := v.shown[n.Node.ident()]
	own := v.by != nil && v.by == n.session // whose writes are known at once
	switch {
	case !shown && (at <= n.bornBy && !j.proved(v, n) || at >= n.goneFrom):
		return right
	case !shown:
		return absent
	case at > n.goneBy || own && n.ownGone < v.call.Begin:
		return dead
	case at < n.bornFrom:
		return unborn
	case j.dataless(v, m):
		return right
	case !j.had(n, m.Data, at, own, v.call.Begin):
		return outworn
	}
	return right
}

// dataless reports whether the data of a node may have been left out.
func (j *judge) dataless(v *view, n Node) bool { return j.byName(v.call) && n.Data.Len == 0 }

// proved reports whether the view itself proves that the node had been made: it
// shows, or its session knows of, one that was made later.
func (j *judge) proved(v *view, n *life) bool {
	for _, p := range v.proof {
		if p.Seq >= n.Seq && j.unbroken(p, n) {
			return true
		}
	}
	return false
}

// had reports whether a node may have had the data at a moment. Each update has
// its time: from when it was made to when a later one was acknowledged, after which
// no earlier request changes the data (U5). A list of the node's own session knows
// those that were acknowledged before it began.
func (j *judge) had(n *life, d Data, at Stamp, own bool, begin Stamp) bool {
	return slices.ContainsFunc(n.writers(d), func(u *Call) bool {
		return (u.creates() || at >= u.Begin) && at <= n.replaced(u, own, begin)
	})
}

// replaced is when what a call had stored was surely there no more.
func (n *life) replaced(u *Call, own bool, begin Stamp) Stamp {
	by := never
	for _, w := range n.updates {
		if w == u || !u.creates() && w.Begin < u.end() {
			continue
		}
		if w.ok() {
			by = min(by, w.End)
		}
		if w.ok() && own && w.End < begin {
			return -1
		}
		if w.seen > 0 && (u.creates() || u.ok()) { // it has no request left that may come late
			by = min(by, w.seen)
		}
	}
	return by
}

// teach learns from a view which nodes are gone: those that were there and that
// one no older than its call does not show. And it learns which updates were made.
func (j *judge) teach(v *view, of []*life) {
	for _, n := range of {
		m, shown := v.shown[n.Node.ident()]
		if !shown && (n.bornBy < v.lo || j.proved(v, n)) {
			n.isGone(v.hi, v.call, false)
		}
		if j.dataless(v, m) {
			continue
		}
		if w := n.writers(m.Data); shown && len(w) == 1 && (w[0].seen == 0 || w[0].seen > v.hi) {
			w[0].seen = v.hi
		}
	}
}
