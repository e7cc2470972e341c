package random

import (
	"slices"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/model"
	"github.com/coordkit/coordkit/coord/driver"
)

// call makes a call of somebody.
func (g *generator) call() {
	s := Step{Session: g.rng.IntN(len(g.sessions))}
	if g.focus != nil && g.chance(0.5) {
		s.Session = g.focus.session
	}
	who := g.sessions[s.Session]
	s.Conn = who.conn
	s.Dir = g.rng.IntN(len(g.p.Dirs))
	if g.chance(0.6) {
		s.Dir = 0
	}
	broken := g.conns[s.Conn].broken || g.conns[s.Conn].held
	g.timing(&s, broken)
	switch n := g.rng.IntN(100); {
	case n < 28:
		g.create(s)
	case n < 39:
		g.change(s, model.Delete)
	case n < 52:
		g.change(s, model.Update)
	case n < 58:
		g.abandon(s)
	case n < 67:
		s.Op = model.List
		if g.chance(0.25) {
			s.Op = model.ListNames
		}
		g.lists = append(g.lists, g.add(s))
	case n < 74:
		s.Op, s.Session = model.ConnList, -1
		s.Conn = g.rng.IntN(len(g.conns))
		g.lists = append(g.lists, g.add(s))
	case n < 94:
		g.wait(s)
	case n < 98:
		s.Session, s.Conn = -1, g.rng.IntN(len(g.conns))
		g.watch(s)
	default:
		s := Step{Op: Sleep, Session: -1, Pause: g.st.TTL / time.Duration(4+g.rng.IntN(28))}
		if !g.long && g.chance(0.15) { // what is to be renewed has to be
			g.long, s.Pause = true, g.st.TTL+g.st.TTL/4
		}
		g.add(s)
	}
}

// timing says when a call is made and how long it may take. On a link that is broken
// most have to be given up.
func (g *generator) timing(s *Step, broken bool) {
	if g.kind.AtOnce > 1 && g.chance(0.5) {
		s.After = g.st.TTL / 256 * time.Duration(g.rng.IntN(8))
	}
	switch {
	case broken && g.chance(0.75):
		s.Within = g.st.TTL/16 + time.Duration(g.rng.Int64N(int64(g.st.TTL/8)))
	case g.chance(0.02):
		s.Within = -1
	case g.chance(0.03):
		s.Within = g.st.TTL/1000 + time.Duration(g.rng.Int64N(int64(g.st.TTL/100)))
	}
}

// data is mostly short, and now and then as long as data may be, or one byte longer.
func (g *generator) data() Data {
	d := Data{Len: pick(g, []int{0, 0, 0, 1, 1, 2, 3, 4, 5, 8, 16, 17, 64, 255, 256, 1000}), Seed: g.rng.Uint64()}
	switch n := g.rng.IntN(100); {
	case n < 4:
		d.Len = pick(g, []int{4096, driver.MaxData - 1, driver.MaxData, driver.MaxData})
	case n < 6:
		d.Len = driver.MaxData + 1
	case n < 26 && len(g.used) > 0:
		return pick(g, g.used)
	}
	g.used = append(g.used, d)
	return d
}

// create makes a node, or asks for one that is there.
func (g *generator) create(s Step) {
	s.Op, s.Slot, s.Data = model.Create, pick(g, g.names), g.data()
	if f := g.focus; f != nil && f.session == s.Session && g.chance(0.6) {
		s.Dir, s.Slot = f.dir, f.slot
	}
	if g.chance(0.5) {
		s.Op = model.CreateList
	}
	id := g.add(s)
	g.focus = &genNode{step: id, session: s.Session, dir: s.Dir, slot: s.Slot}
	g.nodes = append(g.nodes, g.focus)
	if s.Op == model.CreateList {
		g.lists = append(g.lists, id)
	}
}

func (g *generator) abandon(s Step) {
	s.Op, s.Slot = model.Abandon, pick(g, g.names)
	if f := g.focus; f != nil && f.session == s.Session && g.chance(0.8) {
		s.Dir, s.Slot = f.dir, f.slot
	}
	for _, n := range g.nodes {
		if n.session == s.Session && n.dir == s.Dir && n.slot == s.Slot {
			n.gone = true
		}
	}
	g.add(s)
}

// choose picks a node that an earlier wave has made: mostly one that should be there,
// and mostly a late one.
func (g *generator) choose(may func(*genNode) bool) *genNode {
	var there, gone []*genNode
	for _, n := range g.nodes {
		switch {
		case n.step > g.earlier || !may(n):
		case n.gone:
			gone = append(gone, n)
		default:
			there = append(there, n)
		}
	}
	from := there
	if len(there) == 0 || len(gone) > 0 && g.chance(0.2) {
		from = gone
	}
	if len(from) == 0 {
		return nil
	}
	if g.chance(0.5) {
		return from[len(from)-1]
	}
	return pick(g, from)
}

// change updates or deletes a node of the session's own.
func (g *generator) change(s Step, op model.Op) {
	n := g.choose(func(n *genNode) bool { return n.session == s.Session })
	if n == nil {
		g.create(s)
		return
	}
	s.Op, s.Of, s.Dir = op, []int{n.step}, n.dir
	g.asListed(&s)
	if op == model.Update {
		s.Data = g.data()
	} else {
		n.gone = true
	}
	g.focus = n
	g.add(s)
}

// asListed has the node be taken as an earlier list showed it.
func (g *generator) asListed(s *Step) {
	if len(g.lists) == 0 || !g.chance(0.3) {
		return
	}
	if at := pick(g, g.lists); at <= g.earlier {
		s.As = at
	}
}

// wait waits for a node, or for one of several.
func (g *generator) wait(s Step) {
	n := g.choose(func(*genNode) bool { return true })
	if n == nil {
		g.create(s)
		return
	}
	s.Op, s.Of, s.Dir = model.WaitDelete, []int{n.step}, n.dir
	g.asListed(&s)
	if g.chance(0.4) {
		s.Op = model.WaitAny
		for range g.rng.IntN(4) {
			if m := g.choose(func(m *genNode) bool { return m.dir == n.dir && !slices.Contains(s.Of, m.step) }); m != nil {
				s.Of = append(s.Of, m.step)
			}
		}
	}
	switch {
	case s.Within != 0:
	case g.chance(0.7):
		s.Stays = true
	default:
		s.Within = g.st.TTL/64 + time.Duration(g.rng.Int64N(int64(g.st.TTL/16)))
	}
	g.add(s)
}

// watch watches a directory for as long as the program lasts.
func (g *generator) watch(s Step) {
	s.Op, s.Stays, s.Within = model.Watch, true, max(0, s.Within)
	if g.chance(0.3) {
		s.Pause = g.st.TTL / time.Duration(20+g.rng.IntN(100))
	}
	g.add(s)
}
