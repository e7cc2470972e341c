package random

import (
	"context"
	"fmt"
	"math"

	"github.com/coordkit/coordkit/conformance/internal/model"
	"github.com/coordkit/coordkit/coord/driver"
)

// step does what a step says. What it is about may not be there, as a call before it
// has failed: then there is nothing to do.
func (r *run) step(s Step) {
	switch {
	case s.Op == Sleep:
		r.sleep(s.Pause)
	case isFault(s.Op):
		r.fault(s)
	case isAct(s.Op):
		r.act(s)
	case s.Op == model.Watch:
		r.watch(s)
	default:
		if call, fill := r.prepare(s); call != nil {
			r.insist(s, fill, call)
		}
	}
}

func (s Step) name() string { return fmt.Sprintf("#%d", s.ID) }

// made is a call that can be made, again and again.
type made func(ctx context.Context) (answer, error)

// prepare makes a call of a step, and says what to record of it. It returns nil if the
// call cannot be made, or the driver does not offer it.
func (r *run) prepare(s Step) (made, func(*model.Call)) {
	conn := r.conns[s.Conn].conn
	dir := r.dir(s)
	switch s.Op {
	case model.ConnList:
		return func(ctx context.Context) (answer, error) {
			list, err := conn.List(ctx, dir)
			return answer{list: list}, err
		}, func(c *model.Call) { c.Dir = dir }
	case model.ConnClose:
		return func(context.Context) (answer, error) { return answer{}, conn.Close() }, func(*model.Call) {}
	case model.OpenSession:
		return r.prepareSession(s, conn)
	}
	r.mu.Lock()
	session := r.sessions[s.Session]
	r.mu.Unlock()
	if session == nil {
		return nil, nil
	}
	switch s.Op {
	case model.Create, model.CreateList, model.Abandon:
		return r.prepareSlot(s, session, dir)
	case model.List:
		return listing(session.List, dir)
	case model.ListNames:
		if f, ok := driver.As[driver.NameLister](session.Session); ok {
			return listing(func(ctx context.Context, dir string) ([]driver.Node, error) {
				return f.ListNames(ctx, dir, math.MaxUint64)
			}, dir)
		}
		return nil, nil
	case model.Close:
		return func(ctx context.Context) (answer, error) { return answer{}, session.Close(ctx) }, func(*model.Call) {}
	}
	return r.prepareNodes(s, session)
}

func listing(list func(context.Context, string) ([]driver.Node, error), dir string) (made, func(*model.Call)) {
	return func(ctx context.Context) (answer, error) {
		nodes, err := list(ctx, dir)
		return answer{list: nodes}, err
	}, func(c *model.Call) { c.Dir = dir }
}

// prepareSlot makes a call about a slot. There is one at a time, as a driver may
// expect.
func (r *run) prepareSlot(s Step, session *session, dir string) (made, func(*model.Call)) {
	fill := func(c *model.Call) { c.Dir, c.ID = dir, s.Slot }
	if s.Op == model.Abandon {
		return func(ctx context.Context) (answer, error) { return answer{}, session.Abandon(ctx, dir, s.Slot) }, fill
	}
	data := model.DataOf(s.Data.Bytes())
	fill = func(c *model.Call) { c.Dir, c.ID, c.Data, c.TooLong = dir, s.Slot, data, s.tooLong() }
	create := func(ctx context.Context, data []byte) (n driver.Node, list []driver.Node, err error) {
		n, err = session.Create(ctx, dir, s.Slot, data)
		return n, nil, err
	}
	if f, ok := driver.As[driver.CreateLister](session.Session); ok && s.Op == model.CreateList {
		create = func(ctx context.Context, data []byte) (driver.Node, []driver.Node, error) {
			return f.CreateList(ctx, dir, s.Slot, data)
		}
	} else if s.Op != model.Create {
		return nil, nil
	}
	return func(ctx context.Context) (got answer, err error) {
		given := s.Data.Bytes()
		got.node, got.list, err = create(ctx, given)
		scribble(given)
		return got, err
	}, fill
}

// scribble changes data that were given to a call that has returned.
func scribble(data []byte) {
	for i := range data {
		data[i] ^= 0x5a
	}
}

// prepareNodes makes a call about nodes that are known.
func (r *run) prepareNodes(s Step, session *session) (made, func(*model.Call)) {
	nodes := r.find(s)
	if len(nodes) == 0 {
		return nil, nil
	}
	n := nodes[0]
	about := nodesOf(nodes)
	fill := func(c *model.Call) { c.Nodes, c.Dir = about, n.Dir }
	switch s.Op {
	case model.WaitDelete:
		return func(ctx context.Context) (answer, error) { return answer{}, session.WaitDelete(ctx, n) }, fill
	case model.Delete:
		return func(ctx context.Context) (answer, error) { return answer{}, session.Delete(ctx, n) }, fill
	case model.WaitAny:
		if f, ok := driver.As[driver.AnyWaiter](session.Session); ok {
			return func(ctx context.Context) (answer, error) {
				given := append([]driver.Node(nil), nodes...)
				i, err := f.WaitAny(ctx, given)
				clear(given)
				return answer{index: i}, err
			}, fill
		}
	case model.Update:
		data := model.DataOf(s.Data.Bytes())
		return func(ctx context.Context) (answer, error) {
			given := s.Data.Bytes()
			m, err := session.Update(ctx, n, given)
			scribble(given)
			return answer{node: m}, err
		}, func(c *model.Call) { fill(c); c.Data, c.TooLong = data, s.tooLong() }
	}
	return nil, nil
}

// find returns the nodes that a step is about, as far as they are known.
func (r *run) find(s Step) (nodes []driver.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range s.Of {
		n, ok := r.nodes[of]
		if !ok {
			continue
		}
		for _, m := range r.lists[s.As] {
			if m.Same(n) && m.Dir == n.Dir {
				n = m
			}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func (r *run) dir(s Step) string { return r.prefix + r.p.Dirs[s.Dir] }

// prepareSession opens a session, which is watched from then on.
func (r *run) prepareSession(s Step, conn driver.Conn) (made, func(*model.Call)) {
	var call *model.Call
	return func(ctx context.Context) (answer, error) {
		if s.Stays { // the ctx lives longer than the call, as it may
			ctx = r.ctx
		}
		ttl := r.st.TTL + s.Pause
		opened, err := conn.OpenSession(ctx, ttl)
		if err != nil {
			return answer{}, err
		}
		record := &model.Session{
			Name: sessionName(s.Session), ID: opened.ID(), Conn: s.Conn, Opened: call, Asked: ttl, TTL: opened.TTL(),
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		record.Open = r.stamp
		r.sessions[s.Session] = &session{opened, record}
		r.h.Sessions = append(r.h.Sessions, record)
		return answer{node: driver.Node{Session: record.ID}}, nil
	}, func(c *model.Call) { call = c }
}
