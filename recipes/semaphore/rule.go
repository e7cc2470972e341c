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
	v.Granted = in.letIn(line, own, ahead)
	return v
}

// waits reports whether an entry says that it waits.
func waits(line []driver.Node, own int) bool {
	_, gated := queue.NearestGate(line, own, own+1)
	return gated
}

// agreement is the limit in force, and the entry that said so, if any did.
type agreement struct {
	limit
	name string
	by   driver.Node
}

// inForce finds the limit of the highest version in the line or known to this
// client, and keeps it in mind. Among entries of the same version the first in
// line counts.
func (s *Semaphore) inForce(line []driver.Node) agreement {
	in := agreement{s.known(), s.name, driver.Node{}}
	found := in.version > 0
	for _, n := range line {
		if queue.IsGate(n) {
			continue
		}
		if t, ok := termsOf(n); ok && (!found || t.limit.version > in.version) {
			in.limit, in.by, found = t.limit, n, true
		}
	}
	s.learn(in.limit)
	return in
}

// disagrees refuses an entry that comes with another limit than the one in
// force. Who waits already was not refused, so it is not the one who is wrong,
// but whoever is first in line now: it will leave, and until then the lower of
// the two limits counts.
func (a *agreement) disagrees(line []driver.Node, own int) error {
	t, ok := termsOf(line[own])
	if !ok || t.limit.version != a.version || t.limit.most == a.most {
		return nil
	}
	if waits(line, own) {
		a.most = min(a.most, t.limit.most)
		return nil
	}
	return &LimitError{Name: a.name, Stated: int(t.limit.most), InForce: int(a.most), Owner: queue.Contender(a.by).Owner}
}

// wants returns the permits of an entry. What cannot be read, because somebody
// has overwritten it, may hold any number: it counts as all of them.
func (a *agreement) wants(n driver.Node) int64 {
	if t, ok := termsOf(n); ok {
		return int64(t.permits)
	}
	return a.most
}

// letIn guesses for those who look on whether an entry that is out of the limit
// holds all the same, because it came in before the limit was lowered: it would
// be within the limit that it knows, and does not say that it waits.
func (a *agreement) letIn(line []driver.Node, own int, ahead int64) bool {
	t, ok := termsOf(line[own])
	return ok && t.limit.version < a.version && ahead+int64(t.permits) <= t.limit.most && !waits(line, own)
}
