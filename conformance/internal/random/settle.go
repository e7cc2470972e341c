package random

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/model"
	"github.com/coordkit/coordkit/coord/driver"
)

// settle ends all faults, and looks whether what must happen happens.
func (r *run) settle() {
	for conn := range r.conns {
		r.heal(conn)
		r.release(conn)
	}
	if len(r.h.Faults) > 0 {
		r.sleep(r.st.TTL / 4) // what was on its way lands
	}
	r.noticed()
	final := r.emptied()
	r.looks(final)
	r.waited(final)
	r.watched(final)
	r.mu.Lock()
	r.quitAt = r.now()
	r.mu.Unlock()
	r.quit()
	if !r.wait(&r.background, 2*time.Second) {
		r.mu.Lock()
		r.hopeless = true
		for _, c := range r.h.Calls {
			if c.End == 0 && c.Missing == "" {
				c.Missing, c.Lacks = "it does not return when its ctx has ended", "B1"
			}
		}
		r.mu.Unlock()
		return
	}
	r.closeAll()
}

// more makes a step of those at the end, which the program does not have.
func (r *run) more(s Step) Step {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	s.ID = r.last
	return s
}

// do makes a call at the end, and returns its record, or nil if it cannot be made.
func (r *run) do(s Step) *model.Call {
	s = r.more(s)
	call, fill := r.prepare(s)
	if call == nil {
		return nil
	}
	r.insist(s, fill, call)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range slices.Backward(r.h.Calls) {
		if c.Name == s.name() {
			return c
		}
	}
	return nil
}

// list is what an observer with a connection of its own sees of a directory.
func (r *run) list(dir int) *model.Call {
	return r.do(Step{Op: model.ConnList, Session: -1, Dir: dir})
}

// until looks again and again until look returns true, and reports whether it did
// within d.
func (r *run) until(d time.Duration, look func() bool) bool {
	pause := time.Millisecond
	for start := time.Now(); !look(); {
		if r.broken() || time.Since(start) > d+r.st.Lag(start) {
			return false
		}
		r.sleep(pause)
		pause = min(2*pause, 50*time.Millisecond)
	}
	return true
}

// noticed waits for sessions that the store has ended to notice it (S4).
func (r *run) noticed() {
	for _, s := range r.known() {
		for _, c := range r.calls() {
			if c.Op != model.Expire || c.Session != s.record || c.Err != nil {
				continue
			}
			if !r.until(c.EndAt+s.TTL()-r.now(), func() bool { return s.Err() != nil && over(s) }) {
				c.Lacks = "S4"
				c.Missing = fmt.Sprintf("Done of session %s is open a TTL after the store ended it", s.record.Name)
			}
		}
	}
}

func over(s driver.Session) bool {
	select { // a look, not a wait
	case <-s.Done():
		return true
	default:
		return false
	}
}

func (r *run) calls() []*model.Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.h.Calls)
}

// emptied waits until the nodes of sessions that have ended are gone (S5, S6), and
// returns the last lists.
func (r *run) emptied() (final []*model.Call) {
	for dir := range r.p.Dirs {
		var c *model.Call
		var left string
		gone := r.until(2*r.st.Expiry, func() bool {
			c = r.list(dir)
			left = r.ofEnded(c)
			return left == ""
		})
		if !gone && left != "" {
			c.Missing = fmt.Sprintf("%v after all sessions that have ended did so it shows %s", 2*r.st.Expiry, left)
			c.Lacks = "S6"
		}
		final = append(final, c)
	}
	return final
}

// ofEnded shows a node of a session that has ended.
func (r *run) ofEnded(c *model.Call) string {
	for _, s := range r.known() {
		for _, n := range c.List {
			if n.Session == s.record.ID && over(s) {
				return r.h.Show(n)
			}
		}
	}
	return ""
}

// looks has every session that lives look at every directory.
func (r *run) looks(final []*model.Call) {
	for i := range maxSessions {
		r.mu.Lock()
		s := r.sessions[i]
		r.mu.Unlock()
		if s == nil || over(s) {
			continue
		}
		for dir := range final {
			step := Step{Conn: s.record.Conn, Session: i, Dir: dir}
			for _, op := range []model.Op{model.List, model.ListNames} {
				step.Op = op
				r.do(step)
			}
		}
	}
	for dir := range final {
		if c := r.list(dir); c.Err == nil {
			final[dir] = c
			c.Final = true
		}
	}
}

// closeAll closes the sessions that are still open, whose nodes are gone then (S5); those
// of a session that was lost instead, late, are gone when the store has ended it (S6).
func (r *run) closeAll() {
	for i := range maxSessions {
		r.mu.Lock()
		s := r.sessions[i]
		r.mu.Unlock()
		if s != nil && !over(s) {
			for range 2 { // the second is to succeed likewise
				r.do(Step{Op: model.Close, Conn: s.record.Conn, Session: i})
			}
		}
	}
	bound, rule := max(r.st.TTL/2, time.Second), "S5"
	if slices.ContainsFunc(r.known(), func(s *session) bool { return errors.Is(s.Err(), driver.ErrSessionLost) }) {
		bound, rule = 2*r.st.Expiry, "S6"
	}
	for dir := range r.p.Dirs {
		var c *model.Call
		if !r.until(bound, func() bool { c = r.list(dir); return c.Err != nil || len(c.List) == 0 }) && len(c.List) > 0 {
			c.Missing = fmt.Sprintf("%v after every session had ended it shows %s", bound, r.h.Show(c.List[0]))
			c.Lacks = rule
		}
	}
}
