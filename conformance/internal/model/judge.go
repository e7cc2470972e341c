package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coordkit/coordkit/coord/driver"
)

// Violation is a rule that a history breaks.
type Violation struct {
	Rule string // its ID, as in "W2"
	Call *Call  // that shows it
	Text string // what it was told, and what it should have been
}

// String is the violation in one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s is broken by %s: %s", v.Rule, v.Call.Name, v.Text)
}

// Judge returns the rules that a history breaks, the earliest first.
func Judge(h *History) []Violation {
	j := &judge{
		h: h, sessions: make(map[string]*Session), slots: make(map[slot][]*Call),
		lives: make(map[ident]*life), removals: make(map[string][]*Call), foreign: make(map[string]*Call),
		closed: make(map[int]*Call),
	}
	j.index()
	j.meet()
	for _, n := range j.order {
		j.born(n)
	}
	j.order = slices.DeleteFunc(j.order, func(n *life) bool { return len(n.makers) == 0 }) // reported
	j.inOrder()
	for _, n := range j.order {
		j.ends(n)
	}
	j.told()
	j.views()
	for _, c := range h.Calls {
		j.answer(c)
	}
	slices.SortStableFunc(j.found, func(a, b Violation) int { return int(a.Call.end() - b.Call.end()) })
	return j.found
}

type judge struct {
	h        *History
	sessions map[string]*Session
	slots    map[slot][]*Call // what was done about each slot
	lives    map[ident]*life
	order    []*life // in the order in which they were met, later by directory and Seq
	removals map[string][]*Call
	foreign  map[string]*Call // the first PlantForeign, by directory
	closed   map[int]*Call    // the first Conn.Close, by connection
	found    []Violation
}

// slot is where a session has one node at a time.
type slot struct {
	session *Session
	dir, id string
}

// ident tells nodes apart.
type ident struct {
	dir, key string
	token    uint64
}

func (j *judge) breaks(rule string, c *Call, format string, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case *life:
			args[i] = j.h.Show(a.Node)
		case Node:
			args[i] = j.h.Show(a)
		}
	}
	j.found = append(j.found, Violation{rule, c, fmt.Sprintf(format, args...)})
}

// index sorts the calls by what they are about.
func (j *judge) index() {
	for _, s := range j.h.Sessions {
		j.sessions[s.ID] = s
	}
	for _, c := range j.h.Calls {
		switch c.Op {
		case Create, CreateList, Abandon:
			at := slot{c.Session, c.Dir, c.ID}
			j.slots[at] = append(j.slots[at], c)
		case RemoveDir:
			j.removals[c.Dir] = append(j.removals[c.Dir], c)
		case PlantForeign:
			if j.foreign[c.Dir] == nil {
				j.foreign[c.Dir] = c
			}
		case Expire:
			if c.Session.expired == nil {
				c.Session.expired = c
			}
		case Close:
			if c.Session.closing == nil {
				c.Session.closing = c
			}
		case ConnClose:
			if j.closed[c.Conn] == nil {
				j.closed[c.Conn] = c
			}
			for _, s := range j.h.Sessions {
				if s.Conn == c.Conn && s.closing == nil {
					s.closing = c
				}
			}
		}
	}
}

// end is when the call returned, which of one that has not is at last.
func (c *Call) end() Stamp {
	if c.End == 0 {
		return never
	}
	return c.End
}

func (c *Call) ok() bool { return c.End != 0 && c.Err == nil }

// creates reports whether the call may make a node.
// byName reports whether a call may list names alone.
func (j *judge) byName(c *Call) bool {
	return c.Op == ListNames || c.Op == CreateList && j.h.Caps.Has(driver.CapListNames)
}

func (c *Call) creates() bool { return c.Op == Create || c.Op == CreateList }

// void reports whether the call surely had no effect, as its answer says, or as its
// session was over.
func (c *Call) void() bool {
	if c.afterEnd() {
		return true
	}
	if c.End == 0 || c.Err == nil {
		return false
	}
	return errors.Is(c.Err, driver.ErrInvalid) || errors.Is(c.Err, driver.ErrGone) ||
		(errors.Is(c.Err, driver.ErrUnavailable) || errors.Is(c.Err, driver.ErrDenied)) && !errors.Is(c.Err, driver.ErrUncertain)
}

// afterEnd reports whether the call began when its session had ended.
func (c *Call) afterEnd() bool {
	s := c.Session
	return s != nil && (s.Done != 0 && s.Done < c.Begin || s.expired != nil && s.expired.ok() && s.expired.End < c.Begin)
}

// lost reports whether the session ended without anybody's doing.
func (s *Session) lost() bool {
	return s.Done != 0 && s.expired == nil && (s.closing == nil || s.closing.Begin > s.Done)
}

// meet collects the nodes that anybody was told of, and when they were seen.
func (j *judge) meet() {
	for _, c := range j.h.Calls {
		if c.ok() && (c.creates() || c.Op == Update) {
			j.see(c.Node, c, sight{c.Begin, c.End, c})
		}
		if c.ok() {
			lo := c.Begin
			if c.Session != nil {
				lo = 0 // it may be behind
			}
			for _, n := range c.List {
				j.see(n, c, sight{lo, c.End, c})
			}
		}
		for _, s := range c.States {
			for _, n := range s.Nodes {
				j.see(n, c, sight{c.Begin, s.Stamp, c})
			}
		}
	}
}

func (j *judge) see(n Node, c *Call, s sight) {
	at := ident{n.Dir, n.Key, n.Token}
	l := j.lives[at]
	switch {
	case l == nil && j.sessions[n.Session] == nil:
		if j.foreign[c.Dir] != nil {
			if !j.byName(c) {
				j.breaks("L2", c, "it shows %s; no session of that ID was opened, and %s put foreign keys into the directory", n, j.foreign[c.Dir].Name)
			}
		} else {
			j.breaks(c.listRule(), c, "it shows %s; no session of that ID was opened", n)
		}
		return
	case l == nil:
		l = &life{Node: n, session: j.sessions[n.Session]}
		j.lives[at] = l
		j.order = append(j.order, l)
	case l.ID != n.ID || l.Session != n.Session || l.Seq != n.Seq:
		j.breaks(c.listRule(), c, "it shows %s as %s", l, n)
	}
	l.sights = append(l.sights, s)
}

// listRule is the rule of a call that shows nodes otherwise than they are.
func (c *Call) listRule() string {
	switch c.Op {
	case List, ConnList:
		return "L1"
	}
	return c.ownRule()
}

// Show names a node by its session, as the program calls that.
func (h *History) Show(n Node) string {
	for _, s := range h.Sessions {
		if s.ID == n.Session {
			n.Session = s.Name
		}
	}
	return n.String()
}

// String names a node by its session, its id and its place in the line.
func (n Node) String() string {
	return fmt.Sprintf("%s's %q (seq %d, token %d)", n.Session, n.ID, n.Seq, n.Token)
}

// names lists calls for people.
func names(calls []*Call) string {
	var all []string
	for _, c := range calls {
		all = append(all, c.Name)
	}
	return strings.Join(all, ", ")
}
