package semaphore

import (
	"fmt"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
)

// inLine is the rule of a semaphore: an entry holds if its permits and those of
// all ahead are within the limit.
//
// All ahead count, also those who will find that they are refused: who looks on
// cannot tell them from those who were let in under another limit. So do the limits
// that they were given: unless the limit was changed for all, an entry holds within
// its own and those of all ahead, or waits.
func (s *Semaphore) inLine(line []driver.Node, own int) queue.Verdict {
	if !contends(line[own]) {
		return queue.Verdict{Aside: true}
	}
	in := s.inForce(line)
	s.seen.Store(in.most)
	if why := in.disagrees(line, own); why != nil {
		return queue.Verdict{Refused: why}
	}
	alone := in.alone(line[own])
	ahead, blocked := int64(0), own // the first that is
	for i, n := range line[:own] {
		if !contends(n) {
			continue
		}
		ahead += in.counts(n)
		if ahead > in.most {
			blocked = min(blocked, i)
		}
	}
	me := in.counts(line[own])
	if ahead+me <= in.most {
		return queue.Verdict{}
	}
	// As long as one ahead is blocked we are. The nearest that says so wakes
	// us; if there is none, we are the first to be served, or cannot know.
	v := queue.Verdict{Blocked: true, Granted: letIn(line, own, ahead)}
	v.Blocker, _ = queue.NearestGate(line, blocked, own)
	if me > alone {
		v.Refused = fmt.Errorf("%w request: it is for %d permits; the limit is %d", coord.ErrInvalid, me, alone)
	}
	return v
}

// waits reports whether an entry says that it waits.
func waits(line []driver.Node, own int) bool {
	_, gated := queue.NearestGate(line, own, own+1)
	return gated
}

// agreement is the limit in force and who says so.
type agreement struct {
	change             // of version 0 if nobody has changed the limit; the most is lowered by counts
	name   string      // of the semaphore
	by     driver.Node // the first in line, if the limit is the one that it was given
}

// changed reports whether the limit was changed for all, so that nobody's own matters.
func (a *agreement) changed() bool { return a.version > 0 }

// inForce finds the limit in force: the last change in the line, or without any
// what the first in line was given, or without anybody what this client was. It
// depends on nothing else, and on nothing that was seen before, so all who see the
// same line go by the same limit, and what is not in the store any more is not in
// force.
func (s *Semaphore) inForce(line []driver.Node) agreement {
	in := agreement{change: change{most: s.stated}, name: s.name}
	for _, n := range line {
		switch c := changeOf(n); {
		case c.version > in.version:
			in.change = c
		case !in.changed() && in.by.Key == "":
			if t, ok := termsOf(n); ok {
				in.most, in.by = t.stated, n
			}
		}
	}
	return in
}

// disagrees refuses an entry that comes with another limit than the first in
// line, unless the limit was changed for all. Who waits already was not refused,
// so it is not the one who is wrong, but whoever is first in line now: it will
// leave, and until then the lower of the two limits counts, for letting in.
func (a *agreement) disagrees(line []driver.Node, own int) error {
	t, ok := termsOf(line[own])
	if !ok || a.changed() || t.stated == a.most || waits(line, own) {
		return nil
	}
	return &LimitError{Name: a.name, Stated: int(t.stated), InForce: int(a.most), Owner: queue.Contender(a.by).Owner}
}

// alone returns how much an entry may be for once those ahead have left. It is asked
// before they are counted.
func (a *agreement) alone(n driver.Node) int64 {
	if t, ok := termsOf(n); ok && !a.changed() {
		return t.stated
	}
	return a.most
}

// counts returns the permits of an entry, as the next in line, and lowers the limit
// to that of the entry, unless the limit was changed for all. What does not say so
// in its name, and cannot be read, because somebody has overwritten it, may hold any
// number: it counts as all of them.
func (a *agreement) counts(n driver.Node) int64 {
	t, ok := termsOf(n)
	if !ok {
		return a.most
	}
	if !a.changed() {
		a.most = min(a.most, t.stated)
	}
	return int64(t.permits)
}

// letIn guesses for those who look on whether an entry that is out of the limit
// holds all the same, because the limit was higher when it came in: it would be
// within the one that it came in under, and does not say that it waits.
func letIn(line []driver.Node, own int, ahead int64) bool {
	t, _ := termsOf(line[own])
	if written, ok := writtenTerms(line[own]); ok {
		t.under = written.under // as what is in a name does not change
	}
	return ahead+int64(t.permits) <= t.under && !waits(line, own)
}
