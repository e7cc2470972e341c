package history

import (
	"errors"
	"slices"
	"time"

	"github.com/coordkit/coordkit/coord"
)

// excuse is something that the test did to entries or to a session, which takes
// the holds away. Until it is done it may or may not have happened.
type excuse struct {
	done bool
	at   time.Duration // when it was done
	void bool          // it was not done
}

// Removing says that the entry of an object with that token, which belongs to a
// session, is about to be removed by an operator: its hold does not count any
// more. done is called when that has been tried.
//
// An operator removes what has the name that he has seen, which the session may
// have given to a later entry by then. So no hold of the session counts of those
// that were called for until done; that it is told of is judged of the token
// alone.
func (h *History) Removing(object string, token uint64, session string) (done func(error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := new(excuse)
	o := h.object(object)
	o.removing[token], o.hit[session] = e, e
	o.operators++
	o.lastRemoved = time.Since(h.start)
	h.add(object, "", "an operator removes the entry with token %d of %s", token, object)
	return func(err error) { h.excuseDone(e, o, "removed the entry", err) }
}

// RemovingAll says that all entries of an object are about to be removed by an
// operator. A client that holds it, or calls for it until done is called, does not
// count.
func (h *History) RemovingAll(object string) (done func(error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := new(excuse)
	o := h.object(object)
	o.removals++
	o.operators++
	for op := range h.open {
		if op.name == object {
			op.unjudged = true
			if op.hold != nil { // others may not have joined yet
				op.excused = e
			}
		}
	}
	o.lastRemoved = time.Since(h.start)
	h.add(object, "", "an operator removes the line of %s", object)
	return func(err error) {
		h.excuseDone(e, o, "removed the line", err)
		h.mu.Lock()
		defer h.mu.Unlock()
		o.removals--
	}
}

// Ending says that the store is about to end a client's session: what is held on
// it does not count any more. done is called when that has been tried.
func (h *History) Ending(client, session string) (done func(error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := new(excuse)
	h.ending[session] = e
	h.lastEnding[client] = time.Since(h.start)
	h.add("", "", "the store ends %s's session %s", client, session)
	return func(err error) {
		h.excuseDone(e, nil, "ended the session", err)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.lastEnding[client] = e.at
	}
}

// MayEnd says that from now on the store may end any session by itself while its
// client believes it alive, and why, such as a known defect of the store. A grant
// that finds an earlier hold alive is then recorded in Excused and is no violation,
// unless its token is not greater.
func (h *History) MayEnd(why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mayEnd = why
	h.add("", "", "the store may end sessions by itself: %s", why)
}

// excuseDone records what became of it; o is nil for a session.
func (h *History) excuseDone(e *excuse, o *object, what string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e.done, e.void, e.at = true, err != nil, time.Since(h.start)
	name := ""
	if o != nil {
		o.operators--
		o.lastRemoved = e.at
		name = o.name
	}
	if err != nil {
		h.add(name, "", "has not %s: %v", what, err)
	}
}

// Killed says that a client is killed: nothing that becomes of it is judged, but
// what it leaves behind is.
func (h *History) Killed(client string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.killed[client] = true
	h.add("", "", "%s is killed", client)
}

// ClosingSession says that a client is about to close a session of its: its calls
// and holds end. That holds end before anybody else is granted anything is judged
// as ever.
func (h *History) ClosingSession(client string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closing[client] = true
	h.add("", "", "%s closes its session", client)
}

// Closing says that a client is about to be closed: what it watches ends too.
func (h *History) Closing(client string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closing[client], h.closed[client] = true, true
	h.add("", "", "%s is closed", client)
}

// judgeTold judges a hold that was not lost until now, when it is released:
// should it have been? The store's ending of a session is noticed within the TTL
// (rule S4). The removal of an entry is too, or within as much after the way to
// the store is open again: a holder begins to watch its entry a moment after the grant,
// and again a moment after the watch was broken, for which Late is allowed once more.
func (op *Op) judgeTold() {
	h := op.h
	now := time.Since(h.start)
	late := func(e *excuse, since time.Duration) bool {
		return e != nil && e.done && !e.void && now-since > h.o.TTL+h.o.Late
	}
	if h.killed[op.client] {
		return
	}
	if e := h.ending[op.session]; e != nil && late(e, max(e.at, op.grantedAt)) {
		h.breach(Loss, op.name, "%s has held %s with token %d until now, and the store ended its session %v ago", op.who, op.wanted(), op.token, now-e.at)
	}
	for _, e := range []*excuse{op.excused, h.object(op.name).removing[op.token]} {
		if e != nil && !op.traded && late(e, max(e.at, op.grantedAt, h.lastTrouble(op.client, now))+h.o.Late) {
			h.breach(Loss, op.name, "%s has held %s with token %d until now, and an operator removed its entry %v ago", op.who, op.wanted(), op.token, now-e.at)
		}
	}
}

// justify judges an error with which something ended early: was there a cause?
func (op *Op) justify(what string, err error) {
	op.h.justify(op.client, op.name, op.called, err, op.who+" "+what+" "+op.wanted(), op.overAt)
}

// justify judges an error of what a client did to an object since a time: its cause may
// lie before now, or before what is given, at which the client noticed it.
func (h *History) justify(client, name string, since time.Duration, err error, what string, noticed ...time.Duration) {
	if h.killed[client] {
		return
	}
	noticed = append(noticed, time.Since(h.start))
	troubled := func(least time.Duration) bool {
		return slices.ContainsFunc(noticed, func(at time.Duration) bool {
			return h.troubled(client, at-2*h.o.TTL, at) >= least
		})
	}
	// A session that the store has ended may be noticed a TTL later (S4).
	ending, any := h.lastEnding[client]
	cause := any && ending >= since-h.o.TTL
	known := true
	switch {
	case errors.Is(err, coord.ErrSessionLost), errors.Is(err, coord.ErrUnavailable), errors.Is(err, coord.ErrUncertain):
		// A lease outlives a short disturbance (S3).
		cause = cause || troubled(h.o.TTL/4)
	case errors.Is(err, coord.ErrRemoved):
		// When the store has ended a session and cannot be asked why the entry
		// is gone, it counts as removed.
		o := h.object(name)
		cause = cause || o.operators > 0 || o.lastRemoved >= since || troubled(1)
	case errors.Is(err, coord.ErrClosed):
		known, cause = h.closing[client], true
	default:
		known = false
	}
	switch {
	case !known:
		h.breach(Cause, name, "%s, for a reason that it should not: %v", what, err)
	case h.o.Exact && !cause:
		h.breach(Cause, name, "%s, and nothing had happened: %v", what, err)
	}
}
