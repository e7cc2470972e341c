package random

import (
	"time"

	"github.com/coordkit/coordkit/conformance/internal/model"
	"github.com/coordkit/coordkit/conformance/netfault"
)

// fault breaks a link.
func (g *generator) fault() {
	i := g.rng.IntN(len(g.conns))
	c := g.conns[i]
	if !c.linked || c.closed {
		return
	}
	s := Step{Conn: i, Session: -1, To: pick(g, []netfault.Direction{netfault.Up, netfault.Down, netfault.Both})}
	switch n := g.rng.IntN(100); {
	case n < 30:
		s.Op, c.broken = Freeze, true
	case n < 42:
		s.Op, s.Pause = Delay, g.st.TTL/time.Duration(32+g.rng.IntN(200))
		c.broken = true
	case n < 54:
		s.Op, c.broken = DropReplies, true
	case n < 64:
		s.Op = DropConnections
	case n < 72:
		s.Op, c.broken = Cut, true
	default:
		if g.st.Hold == nil || c.held {
			return
		}
		s.Op, c.held = Hold, true
	}
	g.add(s)
	if c.heals <= 0 {
		c.heals = 1 + g.rng.IntN(4)
	}
	if c.broken && g.chance(0.04) { // until its sessions are lost
		g.endWave()
		g.add(Step{Op: Sleep, Session: -1, Pause: g.st.TTL + g.st.TTL/8})
	}
}

// mend heals a link, or lets the request land that is held.
func (g *generator) mend(i int, c *genConn) {
	if c.broken {
		g.add(Step{Op: Heal, Conn: i, Session: -1})
		c.broken = false
	}
	if c.held {
		g.add(Step{Op: Release, Conn: i, Session: -1})
		c.held = false
	}
	g.endWave()
}

// act has an operator act.
func (g *generator) act() {
	s := Step{Session: -1, Dir: g.rng.IntN(len(g.p.Dirs))}
	switch n := g.rng.IntN(10); {
	case n < 5 && g.st.RemoveNode != nil:
		if n := g.choose(func(*genNode) bool { return true }); n != nil {
			s.Op, s.Of, s.Dir, n.gone = model.RemoveNode, []int{n.step}, n.dir, true
			g.focus = n
		}
	case n < 8 && g.st.RemoveDir != nil:
		s.Op = model.RemoveDir
		for _, n := range g.nodes {
			n.gone = n.gone || n.dir == s.Dir
		}
	case n < 9 && g.st.PlantForeign != nil:
		s.Op = model.PlantForeign
	case g.st.Compact != nil:
		s.Op = model.Compact
	}
	if s.Op != "" {
		g.add(s)
	}
}

// end ends a session, and opens another in its place.
func (g *generator) end() {
	i := g.rng.IntN(len(g.sessions))
	who := g.sessions[i]
	s := Step{Op: model.Close, Conn: who.conn, Session: i, Within: g.st.TTL / 4}
	switch n := g.rng.IntN(10); {
	case n < 4 && g.st.Expire != nil:
		s = Step{Op: model.Expire, Session: i}
	case n < 5:
		s = Step{Op: model.ConnClose, Conn: who.conn, Session: -1}
		g.conns[who.conn].closed = true
	}
	for _, n := range g.nodes {
		if n.session == i || s.Op == model.ConnClose && g.sessions[n.session].conn == who.conn {
			n.gone = true
		}
	}
	g.add(s)
	open := 0
	for _, c := range g.conns[1:] {
		if !c.closed {
			open++
		}
	}
	if len(g.sessions) < maxSessions && open > 0 && g.chance(0.7) {
		conn := who.conn
		for g.conns[conn].closed || conn == 0 {
			conn = g.rng.IntN(len(g.conns))
		}
		g.openSession(conn)
	}
}

// givenUp loses a request or its reply, gives the call up, and goes on with the same
// slot before the request lands: the schedules of C2, C4, U2 and U5.
func (g *generator) givenUp() {
	session := g.rng.IntN(len(g.sessions))
	who := g.sessions[session]
	c := g.conns[who.conn]
	if !c.linked || c.closed || c.broken || c.held {
		return
	}
	n := g.choose(func(n *genNode) bool { return n.session == session })
	s := Step{Session: session, Conn: who.conn}
	if n == nil || g.chance(0.3) {
		g.create(s)
		n = g.focus
		g.endWave()
	}
	hold := g.st.Hold != nil && g.chance(0.6)
	fault := Step{Op: Hold, Conn: who.conn, Session: -1, To: pick(g, []netfault.Direction{netfault.Up, netfault.Down, netfault.Both})}
	if !hold {
		fault.Op = pick(g, []model.Op{Freeze, Freeze, DropReplies, Delay})
		fault.Pause = g.st.TTL / 5
	}
	g.add(fault)
	g.endWave()
	lost := s
	if g.chance(0.8) {
		lost.Within = g.st.TTL/16 + time.Duration(g.rng.Int64N(int64(g.st.TTL/16)))
	}
	op := g.about(n, lost, "")
	g.endWave()
	if !hold {
		g.add(Step{Op: pick(g, []model.Op{Heal, Heal, DropConnections}), Conn: who.conn, Session: -1})
		g.add(Step{Op: Heal, Conn: who.conn, Session: -1})
		g.endWave()
	}
	for range 1 + g.rng.IntN(4) {
		if g.chance(0.2) {
			g.call()
		} else if g.chance(0.4) {
			op = g.about(n, s, op)
		} else {
			op = g.about(n, s, "")
		}
		g.endWave()
	}
	if hold {
		g.add(Step{Op: Release, Conn: who.conn, Session: -1})
		g.endWave()
	}
}

// about makes a call about a slot, or about the node that was last made there.
func (g *generator) about(n *genNode, s Step, op model.Op) model.Op {
	if op == "" {
		op = pick(g, []model.Op{model.Create, model.Create, model.CreateList, model.CreateList, model.Update, model.Update, model.Delete, model.Delete, model.Abandon})
	}
	s.Op, s.Dir, s.Slot = op, n.dir, n.slot
	switch op {
	case model.Create, model.CreateList:
		s.Data = g.data()
		made := &genNode{step: g.add(s), session: s.Session, dir: s.Dir, slot: s.Slot}
		g.nodes, g.focus = append(g.nodes, made), made
	case model.Update, model.Delete:
		last := g.choose(func(m *genNode) bool { return m.session == n.session && m.dir == n.dir && m.slot == n.slot })
		if last == nil {
			last = n
		}
		s.Of, s.Data, s.Slot = []int{last.step}, g.data(), ""
		last.gone = last.gone || op == model.Delete
		g.add(s)
	default:
		g.add(s)
	}
	return op
}
