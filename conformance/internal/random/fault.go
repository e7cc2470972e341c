package random

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/model"
)

const forever = time.Duration(math.MaxInt64)

// fault breaks a link, or heals it.
func (r *run) fault(s Step) {
	c := r.conns[s.Conn]
	switch s.Op {
	case Heal:
		r.heal(s.Conn)
		return
	case Release:
		r.release(s.Conn)
		return
	}
	from := r.now()
	r.mu.Lock()
	if s.Op == Hold && c.release != nil { // one at a time
		r.mu.Unlock()
		return
	}
	fault := model.Fault{Conn: s.Conn, Name: string(s.Op), Breaks: s.Op != Delay, Silent: s.Op == DropReplies || s.Op == Hold, From: from, To: forever}
	c.since = time.Now()
	c.broken = c.broken || s.Op != Hold && s.Op != DropConnections
	at := len(r.h.Faults)
	r.h.Faults = append(r.h.Faults, fault)
	r.mu.Unlock()
	switch s.Op {
	case Freeze:
		c.link.Freeze(s.To)
	case Delay:
		c.link.Delay(s.To, s.Pause)
	case DropReplies:
		c.link.DropReplies()
	case Cut:
		c.link.Cut()
	case DropConnections:
		c.link.DropConnections()
		r.mu.Lock()
		r.h.Faults[at].To, c.since = r.now(), time.Now()
		r.mu.Unlock()
	case Hold:
		release := r.st.Hold(c.link)
		r.mu.Lock()
		c.release = release
		r.mu.Unlock()
	}
}

// heal ends what is wrong with a link, but for a request that is held.
func (r *run) heal(conn int) {
	c := r.conns[conn]
	if c.link == nil {
		return
	}
	if err := c.link.Heal(); err != nil {
		r.fails(fmt.Errorf("healing a link: %w", err))
		return
	}
	r.over(conn, func(f model.Fault) bool { return f.Name != string(Hold) })
	r.mu.Lock()
	c.broken = false
	r.mu.Unlock()
}

// release lets a request land that was held.
func (r *run) release(conn int) {
	c := r.conns[conn]
	r.mu.Lock()
	release := c.release
	c.release = nil
	r.mu.Unlock()
	if release != nil {
		release()
		r.over(conn, func(f model.Fault) bool { return f.Name == string(Hold) })
	}
}

// over notes that faults have ended.
func (r *run) over(conn int, which func(model.Fault) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, f := range r.h.Faults {
		if f.Conn == conn && f.To == forever && which(f) {
			r.h.Faults[i].To = r.now()
			r.conns[conn].since = time.Now()
		}
	}
}

// sound reports whether nothing is wrong with the link of a connection, and since
// when.
func (r *run) sound(conn int) (bool, time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.conns[conn]
	return !c.broken && c.release == nil, c.since
}

// act does what an operator does.
func (r *run) act(s Step) {
	dir := r.dir(s)
	fill := func(c *model.Call) { c.Dir, c.Conn = dir, -1 }
	var do func(context.Context) error
	switch s.Op {
	case model.RemoveDir:
		do = func(ctx context.Context) error { return r.st.RemoveDir(ctx, r.st.Namespace, dir) }
	case model.PlantForeign:
		do = func(ctx context.Context) error { return r.st.PlantForeign(ctx, r.st.Namespace, dir) }
	case model.Compact:
		do = func(ctx context.Context) error { return r.st.Compact(ctx, r.st.Namespace) }
	case model.RemoveNode:
		nodes := r.find(s)
		if len(nodes) == 0 {
			return
		}
		do = func(ctx context.Context) error { return r.st.RemoveNode(ctx, r.st.Namespace, nodes[0]) }
		fill = func(c *model.Call) { c.Nodes, c.Dir, c.Conn = nodesOf(nodes[:1]), nodes[0].Dir, -1 }
	case model.Expire:
		r.mu.Lock()
		session := r.sessions[s.Session]
		r.mu.Unlock()
		if session == nil {
			return
		}
		do = func(ctx context.Context) error { return r.st.Expire(ctx, r.st.Namespace, session.Session) }
	}
	c := r.begin(s, fill)
	err := do(r.ctx)
	r.end(c, r.ctx, answer{}, err)
}

// known returns what is known of a session, for those who look at the end.
func (r *run) known() (sessions []*session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range maxSessions {
		if s := r.sessions[i]; s != nil {
			sessions = append(sessions, s)
		}
	}
	return sessions
}
