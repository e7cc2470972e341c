package history

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coordkit/coordkit/coord"
)

// Counts are the outcomes of calls.
type Counts struct {
	Granted, Released, Lost, Failed, Busy int
}

// String lists them.
func (c Counts) String() string {
	return fmt.Sprintf("%d granted, %d released, %d lost, %d given up or failed, %d busy", c.Granted, c.Released, c.Lost, c.Failed, c.Busy)
}

// Op is one call to acquire, and what came of it. It is for one goroutine.
type Op struct {
	h       *History
	who     string // as "A.1"
	client  string // as "A"
	name    string // of the object
	kind    Kind
	permits int

	called     time.Duration
	calledStep int
	floor      uint64 // no token up to here may be granted

	// Once granted:
	hold      Hold
	heeded    int           // holds whose end is noted: one more when it was downgraded
	overAt    time.Duration // when the context of the last ended, or 0
	token     uint64
	session   string
	grantedAt time.Duration
	grantStep int
	grantedAs Kind
	ahead     int    // permits of those who stood ahead when it was granted
	more      []Hold // by which it was entered again
	inside    []Hold // of these, when the downgrade began
	traded    bool
	values    int // how many values it has proclaimed
	certain   int // the index of the last that is known to be written
	certainAt time.Duration

	limit    int     // of the object, the greatest while the call was under way
	least    int     // the smallest
	excused  *excuse // of all that was in the line
	unjudged bool    // it may have been in a line that was removed
	later    bool    // it may have joined the line long after it was made
}

// Call records that somebody is about to acquire the object called name: who is
// a client's name, or that with a dot and what tells its goroutines apart.
// permits counts for Permits only.
func (h *History) Call(who, name string, kind Kind, permits int) *Op {
	h.mu.Lock()
	defer h.mu.Unlock()
	client := clientOf(who)
	o := h.object(name)
	h.step++
	op := &Op{
		h: h, who: who, client: client, name: name, kind: kind, permits: permits,
		called: time.Since(h.start), calledStep: h.step, floor: o.highest, limit: o.limit, least: o.least,
		unjudged: o.removals > 0,
	}
	h.open[op] = struct{}{}
	h.add(name, who, "wants %s", op.wanted())
	return op
}

// clientOf returns the client of a name as Call takes it.
func clientOf(who string) string {
	client, _, _ := strings.Cut(who, ".")
	return client
}

func (op *Op) wanted() string {
	if op.kind == Permits {
		return fmt.Sprintf("%d of %s", op.permits, op.name)
	}
	return fmt.Sprintf("%s (%s)", op.name, op.kind)
}

// Note adds to the log what the caller does beside.
func (op *Op) Note(format string, args ...any) {
	op.h.mu.Lock()
	defer op.h.mu.Unlock()
	op.h.add(op.name, op.who, format, args...)
}

// JoinsLater says that the call may join the line long after it was made, as that of
// a service does which stands again: nobody knows whom it came before.
func (op *Op) JoinsLater() {
	op.h.mu.Lock()
	defer op.h.mu.Unlock()
	op.later = true
}

// Dropped records that the call was not made, or that it is not known how it ended.
func (op *Op) Dropped() {
	op.h.mu.Lock()
	defer op.h.mu.Unlock()
	delete(op.h.open, op)
}

// Busy records that a call which does not wait would have had to, and how long
// after the end of its ctx it returned.
func (op *Op) Busy(overdue time.Duration) {
	h := op.h
	h.mu.Lock()
	defer h.mu.Unlock()
	op.punctual("the call for", overdue)
	h.counts.Busy++
	delete(h.open, op)
	h.add(op.name, op.who, "finds %s taken", op.wanted())
}

// Failed records that the call ended without a grant, why, and how long after
// the end of its ctx. ended is its ctx's error, if it had ended, which is reason
// enough if the call says so.
func (op *Op) Failed(err, ended error, overdue time.Duration) {
	h := op.h
	h.mu.Lock()
	defer h.mu.Unlock()
	op.punctual("the call for", overdue)
	h.counts.Failed++
	delete(h.open, op)
	h.add(op.name, op.who, "does not get %s: %v", op.wanted(), err)
	if gaveUp := ended != nil && errors.Is(err, ended); gaveUp {
		op.judgeRefusal()
	} else if op.kind != Permits || op.permits <= op.least || !errors.Is(err, coord.ErrInvalid) {
		op.justify("does not get", err)
	}
}

// judgeRefusal judges a call that has waited until its ctx ended: for more than the
// limit nobody waits.
func (op *Op) judgeRefusal() {
	h := op.h
	now := time.Since(h.start)
	if h.o.Exact && op.kind == Permits && op.permits > op.limit && now > op.called+h.o.Late &&
		h.troubled(op.client, op.called-2*h.o.TTL, now) == 0 {
		h.breach(Limits, op.name, "%s waits for %s, and the limit is %d", op.who, op.wanted(), op.limit)
	}
}

func (op *Op) punctual(what string, overdue time.Duration) {
	if overdue > op.h.o.Late {
		op.h.breach(Deadline, op.name, "%s: %s %s returned %v after its ctx had ended", op.who, what, op.wanted(), overdue)
	}
}

// Granted records that the call has returned a hold on a session, and judges
// whether it may have.
func (op *Op) Granted(hold Hold, session string) {
	h := op.h
	h.mu.Lock()
	defer h.mu.Unlock()
	h.step++
	op.token, op.session = hold.Token(), session
	op.heed(hold)
	op.grantedAt, op.grantStep, op.grantedAs = time.Since(h.start), h.step, op.kind
	h.counts.Granted++
	h.add(op.name, op.who, "holds %s with token %d", op.wanted(), op.token)
	o := h.object(op.name)
	o.judge(op)
	o.holds[op] = struct{}{}
}

// heed notes when the hold's context ends, which its holder may look at much later.
func (op *Op) heed(hold Hold) {
	h := op.h
	op.hold = hold
	op.heeded++
	nth := op.heeded
	context.AfterFunc(hold.Context(), func() {
		at := time.Since(h.start)
		h.mu.Lock()
		defer h.mu.Unlock()
		if op.heeded == nth { // it was not downgraded
			op.overAt = at
		}
	})
}

// undisturbed reports whether the hold that was granted counts, and no operator
// has had a hand in the line since.
func (op *Op) undisturbed() bool {
	o := op.h.object(op.name)
	return o.counts(op) && o.operators == 0 && o.lastRemoved < op.grantedAt
}

// Releasing records that the hold is about to be released, or was seen to be
// lost for the reason given: it does not count any more.
func (op *Op) Releasing(lost error) {
	h := op.h
	h.mu.Lock()
	defer h.mu.Unlock()
	h.step++
	delete(h.object(op.name).holds, op)
	if lost != nil {
		h.add(op.name, op.who, "has lost %s with token %d: %v", op.wanted(), op.token, lost)
		op.justify("loses", lost)
		return
	}
	h.add(op.name, op.who, "lets go of %s with token %d", op.wanted(), op.token)
	op.judgeTold()
	h.object(op.name).judgeShown(op, max(op.grantedAt, op.certainAt))
}

// Released records how the release ended, and how long after the end of its
// ctx. lost says that the hold had been lost before.
func (op *Op) Released(lost bool, err error, overdue time.Duration) {
	h := op.h
	h.mu.Lock()
	defer h.mu.Unlock()
	op.punctual("the release of", overdue)
	delete(h.open, op)
	switch {
	case lost:
		h.counts.Lost++
	case err != nil:
		h.counts.Released++
		h.add(op.name, op.who, "has released %s with token %d, unconfirmed: %v", op.wanted(), op.token, err)
	default:
		h.counts.Released++
		h.add(op.name, op.who, "has released %s with token %d", op.wanted(), op.token)
	}
}
