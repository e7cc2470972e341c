package history

import (
	"errors"
	"time"

	"github.com/coordkit/coordkit/coord"
)

// Ask is a client's request to a holder to release. It is for one goroutine.
type Ask struct {
	h           *History
	who, client string
	o           *object
	token       uint64
	reason      string
	since       time.Duration
	over        bool
	overAt      time.Duration
}

// Asking records that a client is about to ask the holder of a token to release it. who is
// a name as Call takes it. Each reason of a history is another one.
func (h *History) Asking(who, object string, token uint64, reason string) *Ask {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := &Ask{h: h, who: who, client: clientOf(who), o: h.object(object), token: token, reason: reason, since: time.Since(h.start)}
	a.o.asks[token] = append(a.o.asks[token], a)
	h.add(object, who, "asks for token %d of %s (%s)", token, object, reason)
	return a
}

// Done records how that ended: nil says that who was asked has let go. ended and
// overdue are as in Failed.
func (a *Ask) Done(err, ended error, overdue time.Duration) {
	h := a.h
	h.mu.Lock()
	defer h.mu.Unlock()
	a.over, a.overAt = true, time.Since(h.start)
	how := "it was let go"
	if err != nil {
		how = err.Error()
	}
	h.add(a.o.name, a.who, "asks for token %d of %s no more: %s", a.token, a.o.name, how)
	if overdue > h.o.Late {
		h.breach(Deadline, a.o.name, "%s: the request to let go of %s returned %v after its ctx had ended", a.who, a.o.name, overdue)
	}
	switch {
	case err == nil:
		for op := range a.o.holds {
			if op.token == a.token && a.o.counts(op) {
				h.breach(Revocation, a.o.name, "%s is told that token %d of %s was let go, and %s holds it", a.who, a.token, a.o.name, op.who)
			}
		}
	case ended != nil && errors.Is(err, ended):
	default:
		h.justify(a.client, a.o.name, a.since, err, a.who+" cannot ask for "+a.o.name)
	}
}

// reliable reports whether nothing has kept the request from standing in the store
// while it was made, nor from going when it was over.
func (a *Ask) reliable(now time.Duration) bool {
	h := a.h
	ending, any := h.lastEnding[a.client]
	return !h.killed[a.client] && !h.closing[a.client] && (!any || ending < a.since-h.o.TTL) &&
		h.troubled(a.client, a.since-2*h.o.TTL, now) == 0
}

// Ear is a holder that listens for those who ask it to let go.
type Ear struct {
	op    *Op
	since time.Duration
}

// Listening records that the holder begins to listen.
func (op *Op) Listening() *Ear {
	h := op.h
	h.mu.Lock()
	defer h.mu.Unlock()
	return &Ear{op, time.Since(h.start)}
}

// long is for how long two have to be there for the one to hear of the other, also
// where the store is only looked at now and then.
func (h *History) long() time.Duration { return 2*max(h.o.TTL, time.Second) + h.o.Late }

// Heard records that it was asked, and judges that it was.
func (e *Ear) Heard(r coord.Revocation) {
	op, h := e.op, e.op.h
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Since(h.start)
	h.add(op.name, op.who, "hears that %s asks for token %d of %s (%s)", r.By.Name, op.token, op.name, r.Reason)
	for _, a := range h.object(op.name).asks[op.token] {
		switch {
		case a.reason != r.Reason:
			continue
		case r.By.Name != a.client:
			h.breach(Revocation, op.name, "%s hears that %q asks it to let go of %s, and it is %s", op.who, r.By.Name, op.name, a.client)
		case h.o.Exact && a.over && now > a.overAt+h.long() && a.reliable(now) && h.troubled(op.client, a.since, now) == 0:
			h.breach(Revocation, op.name, "%s hears that %s asks it to let go of %s, who does not any more since %v", op.who, a.who, op.name, a.overAt)
		}
		return
	}
	h.breach(Revocation, op.name, "%s hears that it is asked to let go of %s for the reason %.40q, which nobody has given", op.who, op.name, r.Reason)
}

// Ended records that it has listened in vain, and judges that nobody has asked.
// ended and overdue are as in Failed.
func (e *Ear) Ended(err, ended error, overdue time.Duration) {
	op, h := e.op, e.op.h
	op.Did("listens for requests to release", err, ended, overdue)
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Since(h.start)
	for _, a := range h.object(op.name).asks[op.token] {
		if h.o.Exact && !a.over && now > max(a.since, e.since)+h.long() && op.undisturbed() &&
			a.reliable(now) && h.troubled(op.client, min(a.since, e.since)-2*h.o.TTL, now) == 0 {
			h.breach(Revocation, op.name, "%s has listened since %v and not heard that %s asks it to let go of %s since %v", op.who, e.since, a.who, op.name, a.since)
		}
	}
}
