package semaphore

import (
	"fmt"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/queue"
)

// inLine is the rule of a semaphore: an entry holds if its permits and those of
// all ahead are within the limit.
//
// All ahead count, also those who will find that they are refused: who looks on
// cannot tell them from those who were let in under another limit.
func (s *Semaphore) inLine(line []driver.Node, own int) queue.Verdict {
	if !contends(line[own]) {
		return queue.Verdict{Aside: true}
	}
	in := s.inForce(line)
	if why := in.disagrees(line, own); why != nil {
		return queue.Verdict{Refused: why}
	}
	me := in.wants(line[own])
	ahead, blocked := int64(0), own // the first that is
	for i, n := range line[:own] {
		if !contends(n) {
			continue
		}
		ahead += in.wants(n)
		if ahead > in.most && blocked == own {
			blocked = i
		}
	}
	v := queue.Verdict{}
	switch {
	case me > in.most:
		v.Refused = fmt.Errorf("%w request: it is for %d permits; the limit is %d", coord.ErrInvalid, me, in.most)
	case ahead+me > in.most:
		// As long as one ahead is blocked we are. The nearest that says so wakes
		// us; if there is none, we are the first to be served, or cannot know.
		v.Blocked = true
		v.Blocker, _ = queue.NearestGate(line, blocked, own)
	default:
		return v
	}
	v.Granted = letIn(line, own, ahead)
	return v
}

// waits reports whether an entry says that it waits.
func waits(line []driver.Node, own int) bool {
	_, gated := queue.NearestGate(line, own, own+1)
	return gated
}

// agreement is the limit in force and who says so.
type agreement struct {
	change             // of version 0 if nobody has changed the limit
	name   string      // of the semaphore
	by     driver.Node // the first in line, if the limit is the one that it was given
}

// inForce finds the limit in force: the last change in the line, or without any
// what the first in line was given, or without anybody what this client was. It
// depends on nothing else, and on nothing that was seen before, so all who see the
// same line go by the same limit, and what is not in the store any more is not in
// force.
func (s *Semaphore) inForce(line []driver.Node) agreement {
	in := agreement{change: change{most: s.stated}, name: s.name}
	for _, n := range line {
		if c, ok := changeOf(n); ok {
			if c.version > in.version {
				in.change = c
			}
			continue
		}
		if in.version > 0 || in.by.Key != "" {
			continue
		}
		if t, ok := termsOf(n); ok {
			in.most, in.by = t.stated, n
		}
	}
	s.seen.Store(in.most)
	return in
}

// disagrees refuses an entry that comes with another limit than the first in
// line, unless the limit was changed for all. Who waits already was not refused,
// so it is not the one who is wrong, but whoever is first in line now: it will
// leave, and until then the lower of the two limits counts.
func (a *agreement) disagrees(line []driver.Node, own int) error {
	t, ok := termsOf(line[own])
	if !ok || a.version > 0 || t.stated == a.most {
		return nil
	}
	if waits(line, own) {
		a.most = min(a.most, t.stated)
		return nil
	}
	return &LimitError{Name: a.name, Stated: int(t.stated), InForce: int(a.most), Owner: queue.Contender(a.by).Owner}
}

// wants returns the permits of an entry. What does not say so in its name, and
// cannot be read, because somebody has overwritten it, may hold any number: it
// counts as all of them.
func (a *agreement) wants(n driver.Node) int64 {
	if t, ok := termsOf(n); ok {
		return int64(t.permits)
	}
	return a.most
}

// letIn guesses for those who look on whether an entry that is out of the limit
// holds all the same, because the limit was higher when it came in: it would be
// within the one that it came in under, and does not say that it waits.
func letIn(line []driver.Node, own int, ahead int64) bool {
	t, ok := termsOf(line[own])
	return ok && ahead+int64(t.permits) <= cameUnder(line[own], t) && !waits(line, own)
}
