package random

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/model"
	"github.com/coordkit/coordkit/coord/driver"
)

// insist makes a call, and again as the layers above a driver do: a wait until it has
// ended for good, any other call while nothing is wrong with its link.
func (r *run) insist(s Step, fill func(*model.Call), call made) {
	defer r.occupy(s)()
	wait := s.Op == model.WaitDelete || s.Op == model.WaitAny
	start, pause := time.Now(), time.Millisecond
	for {
		ctx, cancel := r.bound(s)
		c := r.begin(s, fill)
		got, err := r.caught(c, func() (answer, error) { return call(ctx) })
		r.end(c, ctx, got, err)
		over := ctx.Err() != nil
		cancel()
		if err == nil {
			r.learn(s, got)
			return
		}
		sound, since := r.sound(s.Conn)
		if over || !driver.Transient(err) || !sound && !wait || r.broken() {
			return
		}
		if from := latest(start, since); sound && time.Since(from) > 2*r.st.TTL+r.st.Lag(from) {
			c.Failing = true
			return
		}
		r.sleep(pause)
		pause = min(2*pause, r.st.TTL/20)
	}
}

// caught makes a call, and records it if the driver panics.
func (r *run) caught(c *model.Call, call func() (answer, error)) (got answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errPanic
			r.mu.Lock()
			defer r.mu.Unlock()
			c.Panic = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
	}()
	return call()
}

var errPanic = errors.New("the driver panicked")

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// bound makes the ctx of a call. Its cause is the loss of another session, of which
// the error of the call must not speak.
func (r *run) bound(s Step) (context.Context, context.CancelFunc) {
	parent := r.ctx
	if s.Stays {
		parent = r.waits
	}
	switch {
	case s.Within > 0:
		return context.WithTimeoutCause(parent, s.Within, errElsewhere)
	case s.Within < 0:
		ctx, cancel := context.WithCancelCause(parent)
		cancel(errElsewhere)
		return ctx, func() {}
	}
	return context.WithCancel(parent)
}

var errElsewhere = &driver.Error{Op: "keepalive", Key: "another session", Kind: driver.ErrSessionLost}

// occupy waits until nobody else makes a call about the slot of a Create or Abandon,
// and returns what lets the next one.
func (r *run) occupy(s Step) (leave func()) {
	switch s.Op {
	case model.Create, model.CreateList, model.Abandon:
	default:
		return func() {}
	}
	key := fmt.Sprint(s.Session, s.Dir, s.Slot)
	r.mu.Lock()
	slot := r.busy[key]
	if slot == nil {
		slot = make(chan struct{}, 1)
		r.busy[key] = slot
	}
	r.mu.Unlock()
	slot <- struct{}{}
	return func() { <-slot }
}

// learn remembers what later steps are about.
func (r *run) learn(s Step, got answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if got.node.Key != "" {
		r.nodes[s.ID] = got.node
	}
	if len(got.list) > 0 {
		r.lists[s.ID] = got.list
	}
}
