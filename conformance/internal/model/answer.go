package model

import (
	"context"
	"errors"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// The bounds of the rules.
const (
	afterCtx   = 100 * time.Millisecond // B1
	afterEnd   = time.Second            // W4
	closeBound = time.Second            // N1
)

// ownRule is the rule of a call that does not do what it is for.
func (c *Call) ownRule() string {
	return map[Op]string{
		Create: "C1", CreateList: "F1", Abandon: "C4", List: "L1", ListNames: "F4", ConnList: "L5",
		WaitDelete: "W1", WaitAny: "F2", Update: "U1", Delete: "U3", Close: "S5", Watch: "V1",
		OpenSession: "S3", ConnClose: "N1", Expire: "S4",
	}[c.Op]
}

// answer judges one call: its error, its time, and what it returned.
func (j *judge) answer(c *Call) {
	switch {
	case c.Panic != "":
		j.breaks(c.ownRule(), c, "it panicked: %s", c.Panic)
		return
	case c.Changed != "":
		j.breaks("C8", c, "%s", c.Changed)
	case c.Odd != "":
		j.breaks("V4", c, "%s", c.Odd)
	case c.Missing != "":
		j.breaks(j.missingRule(c), c, "%s", c.Missing)
	case c.End == 0 || c.isAct():
		return
	}
	j.late(c)
	switch {
	case c.Failing:
		j.breaks(c.ownRule(), c, "it fails again and again although nothing is wrong: %q", c.Err)
	case c.Err == nil:
		j.success(c)
	default:
		j.failure(c)
	}
}

// rule is that of the errors of calls, which of a watch is one of its own.
func (c *Call) rule(other string) string {
	if c.Op == Watch {
		return "V4"
	}
	return other
}

// isAct reports whether an operator did it.
func (c *Call) isAct() bool {
	switch c.Op {
	case Expire, RemoveNode, RemoveDir, PlantForeign, Compact:
		return true
	}
	return false
}

// missingRule is the rule of what did not happen until the end.
func (j *judge) missingRule(c *Call) string {
	switch {
	case c.Lacks != "":
		return c.Lacks
	case c.Op == WaitDelete && c.disturbed(j.h):
		return "W5"
	case c.Op == WaitDelete && j.again(c.Nodes[0]):
		return "W3"
	case c.Op == Watch && c.disturbed(j.h):
		return "V3"
	}
	return c.ownRule()
}

// again reports whether the slot of a node was used again.
func (j *judge) again(n Node) bool {
	for _, m := range j.order {
		if m.Dir == n.Dir && m.ID == n.ID && m.Session == n.Session && m.Seq > n.Seq {
			return true
		}
	}
	return false
}

// disturbed reports whether something was wrong with the call's link meanwhile.
func (c *Call) disturbed(h *History) bool {
	return c.Conn >= 0 && h.disturbed(c.Conn, c.BeginAt, c.till())
}

// till is when the call returned, or the end of time.
func (c *Call) till() time.Duration {
	if c.End == 0 {
		return time.Duration(never)
	}
	return c.EndAt
}

// disturbed reports whether a link was more than slow between two times.
func (h *History) disturbed(conn int, from, to time.Duration) bool {
	for _, f := range h.Faults {
		if f.Conn == conn && f.Breaks && f.From <= to && f.To >= from {
			return true
		}
	}
	return false
}

// late judges how long a call took.
func (j *judge) late(c *Call) {
	took := c.EndAt - c.BeginAt - c.Lag
	switch {
	case c.Ctx != nil && c.EndAt-c.CtxEnd-c.Lag > afterCtx:
		j.breaks(c.rule("B1"), c, "it returned %v after its ctx had ended", c.EndAt-c.CtxEnd)
	case c.Op == ConnClose && took > closeBound:
		j.breaks("N1", c, "it took %v", took)
	case c.Op == WaitDelete || c.Op == WaitAny:
		s := c.Session
		if s.Done != 0 && c.EndAt-max(s.DoneAt, c.BeginAt)-c.Lag > afterEnd {
			j.breaks("W4", c, "it returned %v after the end of its session %s", c.EndAt-s.DoneAt, s.Name)
		}
	case c.Session != nil && c.Ctx == nil && c.Op != Close && took > c.Session.TTL:
		j.breaks("E3", c, "it took %v, and an attempt is to be given up within the TTL, %v", took, c.Session.TTL)
	}
}

// success judges a call that returned no error.
func (j *judge) success(c *Call) {
	s := c.Session
	n := j.lives[c.Node.ident()]
	switch {
	case c.Op == OpenSession:
		j.opened(c)
	case c.Op == Watch:
		j.breaks("V4", c, "it ended without an error")
	case c.TooLong:
		j.breaks("C8", c, "it took %v; no more than %d bytes of data are to be taken", c.Data, driver.MaxData)
	case s != nil && c.Op != Close && s.Done != 0 && s.Done < c.Begin && c.creates():
		j.breaks("C7", c, "it returned nil after the end of its session %s", s.Name)
	case s != nil && c.Op != Close && s.Done != 0 && s.Done < c.Begin:
		j.breaks("S2", c, "it returned nil after the end of its session %s", s.Name)
	case s != nil && c.creates() && c.afterEnd():
		j.breaks("C7", c, "it returned nil after the store had ended its session %s", s.Name)
	case c.Op == Close && (s.Done == 0 || s.Done > c.End):
		j.breaks("S5", c, "it has returned, and Done of session %s is still open", s.Name)
	case j.closed[c.Conn].before(c) && c.Op != ConnClose && c.Op != Close:
		j.breaks("N1", c, "it returned nil after its connection was closed")
	case c.creates() || c.Op == Update:
		if n != nil && len(n.makers) > 0 {
			j.returned(c, n)
		} else if n == nil && j.sessions[c.Node.Session] == nil {
			j.breaks(c.ownRule(), c, "it returned %s; no session of that ID was opened", c.Node)
		}
	}
}

// opened judges a session that a call has opened.
func (j *judge) opened(c *Call) {
	for _, s := range j.h.Sessions {
		switch {
		case s.Opened == c:
			j.isLost(s)
			if s.Revived != "" {
				j.breaks("S2", c, "session %s: %s", s.Name, s.Revived)
			}
			if s.TTL != s.Asked {
				j.breaks("S7", c, "TTL says %v; %v was asked for", s.TTL, s.Asked)
			}
		case s.ID == c.Node.Session && s.Opened.Begin < c.Begin:
			j.breaks("S8", c, "it has the ID of session %s: %s", s.Name, s.ID)
		}
	}
}

// before reports whether c had returned when another began.
func (c *Call) before(other *Call) bool { return c != nil && c.end() < other.Begin }

// returned judges the node that a call returned.
func (j *judge) returned(c *Call, n *life) {
	m := c.Node
	switch {
	case c.Op == Update && !m.same(c.Nodes[0]):
		j.breaks("U1", c, "it returned another node: %s", m)
	case c.creates() && m.Session != c.Session.ID:
		j.breaks("C3", c, "it returned %s, the node of another session", m)
	case c.creates() && (m.Dir != c.Dir || m.ID != c.ID):
		j.breaks("C1", c, "it returned %s in %q", m, m.Dir)
	case n.goneBy < c.Begin && c.Op == Update:
		j.breaks("U2", c, "it returned nil, and %s was gone: %s; want ErrGone", n, j.tells(n.why, n))
	case n.goneBy < c.Begin:
		j.breaks("C2", c, "it returned %s, which was gone: %s", n, j.tells(n.why, n))
	case !j.returnedData(c, n):
		j.breaks("C8", c, "it returned %s with %v", n, m.Data)
	}
}

// returnedData reports whether a call returned data that the node may have had
// meanwhile.
func (j *judge) returnedData(c *Call, n *life) bool {
	if c.Op == Update {
		for _, u := range n.updates { // its own, or those of one at the same time
			if u.Data == c.Node.Data && (u == c || u.Begin < c.End && u.end() > c.Begin) {
				return true
			}
		}
		return false
	}
	for at := c.Begin; at <= c.End; at++ {
		if j.had(n, c.Node.Data, at, true, c.Begin) {
			return true
		}
	}
	return false
}

// failure judges the error of a call.
func (j *judge) failure(c *Call) {
	s, err := c.Session, c.Err
	is := func(kind error) bool { return errors.Is(err, kind) }
	ctx := is(context.Canceled) || is(context.DeadlineExceeded)
	over := is(driver.ErrSessionLost) || is(driver.ErrClosed)
	ended := s != nil && s.Done != 0 && s.Done <= c.End || j.closed[c.Conn] != nil && j.closed[c.Conn].Begin < c.End
	switch {
	case is(driver.ErrUnavailable) && is(driver.ErrUncertain):
		j.breaks("E2", c, "its error Is both ErrUnavailable and ErrUncertain: %q", err)
	case over && !ended && s != nil && s.closing != nil && s.closing.Begin < c.End: // it is just being closed
	case over && !ended && c.Ctx != nil:
		j.breaks(c.rule("E1"), c, "it was given up, and says that its session has ended: %q", err)
	case over && !ended:
		j.breaks("S2", c, "it says that its session has ended, and Done is open: %q", err)
	case over || is(driver.ErrInvalid) && c.TooLong:
	case s != nil && c.Op != Close && s.Done != 0 && s.Done < c.Begin && !(ctx && c.Ctx != nil):
		rule := "S2"
		if c.Op == WaitDelete || c.Op == WaitAny {
			rule = "W4"
		}
		j.breaks(rule, c, "session %s had ended; want ErrSessionLost or ErrClosed: %q", s.Name, err)
	case c.Op != Close && j.closed[c.Conn].before(c) && !(ctx && c.Ctx != nil): // Session.Close asks the store again
		j.breaks("N1", c, "its connection was closed; want ErrClosed: %q", err)
	case c.TooLong && c.Ctx == nil:
		j.breaks("C8", c, "it was given %v; want ErrInvalid: %q", c.Data, err)
	case is(driver.ErrInvalid):
		j.breaks(c.ownRule(), c, "it refuses what is valid: %q", err)
	case is(driver.ErrGone) && c.Op != Update:
		j.breaks("U3", c, "only Update may return ErrGone: %q", err)
	case ctx && c.Ctx == nil:
		j.breaks(c.rule("E3"), c, "it says that its ctx has ended, and that lives: %q", err)
	case c.Ctx != nil && !errors.Is(err, c.Ctx) && !is(driver.ErrGone) && !is(driver.ErrInvalid) && c.EndAt >= c.CtxEnd && !j.shaken(c):
		j.breaks(c.rule("E1"), c, "its ctx has ended with %q, which its error is not: %q", c.Ctx, err)
	case c.Op == Watch && !ctx && !is(driver.ErrDenied):
		j.breaks("V3", c, "it ended although its ctx lived and its connection was open: %q", err)
	case !ctx && !driver.Transient(err) && !is(driver.ErrGone) && !is(driver.ErrInvalid):
		j.breaks(c.ownRule(), c, "its error is of no kind that it may have: %q", err)
	}
}

// shaken reports whether the link was broken, reset or healed just when the call's
// ctx ended, so that it may have failed for that.
func (j *judge) shaken(c *Call) bool {
	const just = 50 * time.Millisecond
	for _, f := range j.h.Faults {
		for _, at := range []time.Duration{f.From, f.To} {
			if f.Conn == c.Conn && at >= c.CtxEnd-just && at <= c.EndAt {
				return true
			}
		}
	}
	return false
}
