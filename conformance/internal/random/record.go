package random

import (
	"context"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/model"
	"github.com/coordkit/coordkit/coord/driver"
)

// session is one that was opened, and what is recorded of it.
type session struct {
	driver.Session
	record *model.Session
}

// answer is what a call returned.
type answer struct {
	node  driver.Node
	list  []driver.Node
	index int
}

// kept is what a driver returned, which nobody may change, and what it was then.
type kept struct {
	call  *model.Call
	nodes []driver.Node
	then  []model.Node
}

func nodesOf(nodes []driver.Node) []model.Node {
	list := make([]model.Node, len(nodes))
	for i, n := range nodes {
		list[i] = model.NodeOf(n)
	}
	return list
}

// tick is the stamp of the next event. It looks at the sessions first: what is seen
// gone at this event was told before, or never was.
func (r *run) tick() model.Stamp {
	r.stamp += model.Step
	for _, s := range r.sessions {
		ended := false
		select { // a look, not a wait
		case <-s.Done():
			ended = true
		default:
		}
		switch told := s.record.Done != 0; {
		case !ended && told:
			s.record.Revived = "Done was closed, and is open again"
		case !ended:
			s.record.Open = r.stamp
		case s.Err() == nil:
			s.record.Revived = "Done is closed, and Err is nil"
		case !told:
			s.record.Done, s.record.DoneAt, s.record.Err = r.stamp, r.now(), s.Err()
		}
	}
	return r.stamp
}

// begin records that a call is about to be made.
func (r *run) begin(s Step, fill func(*model.Call)) *model.Call {
	c := &model.Call{Name: s.name(), Op: s.Op, Conn: s.Conn, Data: model.DataOf(nil)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if open := r.sessions[s.Session]; open != nil && s.Session >= 0 {
		c.Session = open.record
	}
	fill(c)
	c.Begin, c.BeginAt = r.tick(), r.now()
	r.h.Calls = append(r.h.Calls, c)
	return c
}

// end records how it ended.
func (r *run) end(c *model.Call, ctx context.Context, got answer, err error) {
	ended := ctx.Err()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	c.End, c.EndAt = r.tick(), r.now()
	c.Lag = r.st.Lag(r.start.Add(c.BeginAt))
	if c.Err = err; ended != nil {
		c.Ctx, c.CtxEnd = ended, r.endOf(ctx, c)
	}
	if err != nil {
		return
	}
	c.Index = got.index
	c.Node, c.List = model.NodeOf(got.node), nodesOf(got.list)
	r.keep(c, got.list)
	if got.node.Key != "" {
		r.keep(c, []driver.Node{got.node})
	}
}

// endOf is when the ctx of a call ended.
func (r *run) endOf(ctx context.Context, c *model.Call) time.Duration {
	at := c.EndAt
	if deadline, ok := ctx.Deadline(); ok {
		at = min(at, deadline.Sub(r.start))
	}
	if r.quitAt > 0 {
		at = min(at, r.quitAt)
	}
	return max(at, c.BeginAt)
}

// keep remembers what the driver returned, to see whether it changes.
func (r *run) keep(c *model.Call, nodes []driver.Node) {
	if len(nodes) > 0 {
		r.kept = append(r.kept, kept{c, nodes, nodesOf(nodes)})
	}
}

// shows records a state that a watch shows.
func (r *run) shows(c *model.Call, nodes []driver.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	c.States = append(c.States, model.State{Stamp: r.tick(), Nodes: nodesOf(nodes)})
	r.keep(c, nodes)
}

// finish ends the record and looks once more at all that was returned.
func (r *run) finish() *model.History {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.h.Lag = r.st.Lag(r.start)
	for _, k := range r.kept {
		now := nodesOf(k.nodes)
		for i := range now {
			if now[i] != k.then[i] && k.call.Changed == "" {
				k.call.Changed = "it returned " + r.h.Show(k.then[i]) + " with " + k.then[i].Data.String() +
					", which later was " + r.h.Show(now[i]) + " with " + now[i].Data.String()
			}
		}
	}
	return &r.h
}
