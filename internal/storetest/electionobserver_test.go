package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/recipes/election"
)

// observer is one who follows an election.
type observer struct {
	begun  bool
	leader uint64        // token of who was shown last; 0 if nobody leads
	newest uint64        // token of the newest leader shown
	stamp  time.Duration // when the value shown last was proclaimed
	shown  int           // how many observations
}

// see judges one observation by those before.
func (o *observer) see(seen election.Observation) error {
	was := *o
	o.begun, o.shown = true, o.shown+1
	token := seen.Leader.Token
	if seen.Vacant {
		o.leader, o.stamp = 0, 0
		if was.begun && was.leader == 0 {
			return fmt.Errorf("a vacancy after a vacancy, leader %d before", was.newest)
		}
		return nil
	}
	stamp, err := proclaimed(seen.Leader.Value)
	o.leader, o.newest, o.stamp = token, max(token, was.newest), stamp
	switch {
	case err != nil:
		return fmt.Errorf("leader %d: the value is no time: %w", token, err)
	case token < was.newest:
		return fmt.Errorf("leader %d after leader %d: an older one", token, was.newest)
	case was.leader == 0 && token == was.newest:
		return fmt.Errorf("leader %d after a vacancy that had followed it", token)
	case was.leader != 0 && token != was.leader:
		return fmt.Errorf("leader %d after leader %d, and no vacancy in between", token, was.leader)
	case token == was.leader && stamp <= was.stamp:
		return fmt.Errorf("leader %d proclaimed at %v, shown after what it proclaimed at %v", token, stamp, was.stamp)
	}
	return nil
}

// follow adds an observer, for as long as the contest goes on.
func (c *contest) follow(e *election.Election) {
	o := &observer{}
	c.observers = append(c.observers, o)
	n := len(c.observers)
	c.following.Go(func() {
		for seen, err := range e.Observe(c.ctx) {
			if err != nil {
				if why := c.ctx.Err(); why == nil || !errors.Is(err, why) {
					c.t.Errorf("observer %d ended: %v", n, err)
				}
				return
			}
			c.note(func() {
				if err := o.see(seen); err != nil {
					c.t.Errorf("observer %d was shown %v", n, err)
				}
			})
		}
		c.t.Errorf("observer %d ended without an error", n)
	})
}

// shows reports whether every observer was shown last that this leader leads,
// and something that it proclaimed after since. The caller holds the lock.
func (c *contest) shows(token uint64, since time.Duration) bool {
	for _, o := range c.observers {
		if o.leader != token || o.stamp < since {
			return false
		}
	}
	return true
}
