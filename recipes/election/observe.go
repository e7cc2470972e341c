package election

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
)

// ErrNoLeader means that nobody leads. There may be candidates, of which the
// first is about to take office.
var ErrNoLeader = errors.New("no leader")

// Candidates returns who leads, as Holders, and who waits to, as Waiters in
// order, each with its value, as of now. While the office is vacant there are no
// Holders. It joins no line and opens no session. ctx bounds it.
func (e *Election) Candidates(ctx context.Context) (coord.Contenders, error) {
	var line []state
	c, err := e.queue.Contenders(ctx, func(n driver.Node, c *coord.Contender) {
		p := read(n)
		c.Value = p.value
		line = append(line, p.state)
	})
	if len(line) > 0 && line[0] == standing { // the next in line has not taken office yet
		c.Holders, c.Waiters = nil, append(c.Holders, c.Waiters...)
	}
	return c, err
}

// Leader returns who leads, as of now, with the value that it has last
// proclaimed. If nobody does, the error Is ErrNoLeader. It opens no session. ctx
// bounds it.
func (e *Election) Leader(ctx context.Context) (coord.Contender, error) {
	c, err := e.Candidates(ctx)
	if err != nil {
		return coord.Contender{}, err
	}
	if len(c.Holders) == 0 {
		return coord.Contender{}, fmt.Errorf("coordkit: %s: %w", e.what, ErrNoLeader)
	}
	return c.Holders[0], nil
}

// Observation is what an observer is shown: who leads, or that nobody does.
type Observation struct {
	// Vacant: nobody leads.
	Vacant bool

	// Leader is who leads, with its token and the value it has last proclaimed;
	// zero while the office is vacant.
	Leader coord.Contender
}

// Observe shows who leads: at once, and again when the leader changes, proclaims
// another value, or is gone.
//
// Between two leaders there is always a vacancy, also if the observer learned of
// both ends of it at the same time. An older leader is never shown after a newer
// one: tokens never fall. Values that were replaced quickly, or while the
// consumer was busy, or even leaders that did not stay, may be left out; what
// lasts is always shown.
//
// While the store cannot be reached nothing is shown: the last observation
// stands, if perhaps not any more in truth. The sequence ends when the loop is
// left, or with one error that says why: it Is ctx's error when ctx ends,
// coord.ErrClosed when the client is closed, and otherwise what the store refuses
// for good, as coord.ErrDenied. Nothing happens before the sequence is ranged
// over, and it can be ranged over again. Observers of one client share one watch.
func (e *Election) Observe(ctx context.Context) iter.Seq2[Observation, error] {
	return func(yield func(Observation, error) bool) {
		var shown view
		for line, err := range e.queue.Watch(ctx) {
			if err != nil {
				yield(Observation{}, err)
				return
			}
			for _, o := range shown.next(line) {
				if !yield(o, nil) {
					return
				}
			}
		}
	}
}

// view is what an observer has been shown.
type view struct {
	begun  bool        // a vacancy was shown
	leader driver.Node // zero: the office is vacant
	value  []byte      // the leader's
}

// next returns what there is to show of the line's next state.
func (v *view) next(line []driver.Node) []Observation {
	if len(line) == 0 {
		return v.vacancy()
	}
	first, p := line[0], read(line[0])
	switch {
	case v.leader.Same(first):
		// Who was shown as the leader is, also if a note of its that it waits
		// comes late.
		if bytes.Equal(p.value, v.value) {
			return nil
		}
		return []Observation{v.show(first, p)}
	case p.state == standing:
		return v.vacancy()
	default:
		var all []Observation
		if v.leader.Key != "" {
			all = v.vacancy()
		}
		return append(all, v.show(first, p))
	}
}

func (v *view) show(n driver.Node, p poster) Observation {
	v.leader, v.value = n, p.value
	c := queue.Contender(n)
	c.Value = p.value
	return Observation{Leader: c}
}

// vacancy returns the vacancy, unless it is what was shown last.
func (v *view) vacancy() []Observation {
	if v.begun && v.leader.Key == "" {
		return nil
	}
	v.begun, v.leader, v.value = true, driver.Node{}, nil
	return []Observation{{Vacant: true}}
}
