package model_test

import (
	"context"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/model"
	"github.com/coordkit/coordkit/coord/driver"
)

// build makes a history, one event after the other.
type build struct {
	h      model.History
	stamp  model.Stamp
	tokens uint64
}

func newBuild() *build { return &build{h: model.History{TTL: time.Second}} }

// tick is the next event, a millisecond after the last. Sessions that have not ended are
// seen open.
func (b *build) tick() (model.Stamp, time.Duration) {
	b.stamp += model.Step
	for _, s := range b.h.Sessions {
		if s.Done == 0 {
			s.Open = b.stamp
		}
	}
	return b.stamp, time.Duration(b.stamp) * time.Millisecond
}

// session opens one on the connection with index 1.
func (b *build) session(name string) *model.Session {
	s := &model.Session{Name: name, ID: "id-" + name, Conn: 1, TTL: time.Second, Asked: time.Second}
	s.Opened = b.call(&model.Call{Op: model.OpenSession, Conn: 1})
	b.h.Sessions = append(b.h.Sessions, s)
	return s
}

// begin begins a call.
func (b *build) begin(c *model.Call) *model.Call {
	c.Name = "#" + string(rune('a'+len(b.h.Calls)))
	c.Dir = "q"
	if c.Session != nil {
		c.Conn = c.Session.Conn
	}
	c.Begin, c.BeginAt = b.tick()
	b.h.Calls = append(b.h.Calls, c)
	return c
}

func (b *build) end(c *model.Call) *model.Call {
	c.End, c.EndAt = b.tick()
	return c
}

// call makes a call that returns before anything else happens.
func (b *build) call(c *model.Call) *model.Call { return b.end(b.begin(c)) }

// node is a new node of a session, which nobody knows of yet.
func (b *build) node(s *model.Session, id, data string) model.Node {
	b.tokens++
	return model.Node{
		Dir: "q", ID: id, Key: "q/" + s.ID + "-" + id, Session: s.ID,
		Seq: b.tokens, Token: b.tokens, Data: model.DataOf([]byte(data)),
	}
}

// create makes a node, and fails if err is not nil. The node is what it would have made.
func (b *build) create(s *model.Session, id, data string, err error) model.Node {
	n := b.node(s, id, data)
	b.created(s, n, err)
	return n
}

// created has a Create return a node.
func (b *build) created(s *model.Session, n model.Node, err error) *model.Call {
	c := &model.Call{Op: model.Create, Session: s, ID: n.ID, Data: n.Data, Err: err}
	if err == nil {
		c.Node = n
	}
	return b.call(c)
}

func (b *build) delete(n model.Node, err error) *model.Call {
	return b.call(&model.Call{Op: model.Delete, Session: b.of(n), Nodes: []model.Node{n}, Err: err})
}

// update returns the node with its new data.
func (b *build) update(n model.Node, data string, err error) model.Node {
	c := &model.Call{Op: model.Update, Session: b.of(n), Nodes: []model.Node{n}, Data: model.DataOf([]byte(data)), Err: err}
	n.Data = c.Data
	if err == nil {
		c.Node = n
	}
	b.call(c)
	return n
}

func (b *build) of(n model.Node) *model.Session {
	for _, s := range b.h.Sessions {
		if s.ID == n.Session {
			return s
		}
	}
	return nil
}

// observes lists by a connection.
func (b *build) observes(nodes ...model.Node) *model.Call {
	return b.call(&model.Call{Op: model.ConnList, List: nodes})
}

// lists lists by a session.
func (b *build) lists(s *model.Session, nodes ...model.Node) *model.Call {
	return b.call(&model.Call{Op: model.List, Session: s, List: nodes})
}

// ends lets a session end, as its Done tells.
func (b *build) ends(s *model.Session) {
	s.Done, s.DoneAt = b.tick()
}

// What calls may fail with.
var (
	uncertain   = &driver.Error{Kind: driver.ErrUncertain}
	unavailable = &driver.Error{Kind: driver.ErrUnavailable}
	gone        = &driver.Error{Kind: driver.ErrGone}
	lost        = &driver.Error{Kind: driver.ErrSessionLost}
	canceled    = &driver.Error{Kind: driver.ErrUncertain, Err: context.Canceled}
)
