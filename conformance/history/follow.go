package history

import (
	"fmt"
	"time"
)

// said is a value that a leader has proclaimed.
type said struct {
	op    *Op
	index int // among the op's
}

// ID names the call, differently from every other of the history.
func (op *Op) ID() string { return fmt.Sprintf("%s#%d", op.who, op.calledStep) }

// Proclaiming records that a value is about to be shown to those who follow: that
// of the candidate, before it stands, or another one of the leader. Each value of
// a history is another one, but that with which a service stands again and again.
func (op *Op) Proclaiming(value string) {
	h := op.h
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.object(op.name)
	o.said[value] = append(o.said[value], said{op, op.values})
	op.values++
}

// Proclaimed records that the last value is known to be written.
func (op *Op) Proclaimed() {
	h := op.h
	h.mu.Lock()
	defer h.mu.Unlock()
	op.certain, op.certainAt = op.values-1, time.Since(h.start)
}

// Follower is what one of those who follow an election is shown. Its methods are
// called by one goroutine, but for Vacancy. What it is shown is not in the log,
// unless it is wrong.
type Follower struct {
	onlooker
	must    *Op // the leader when it began to look, which it has to be shown
	certain int // the index of the value that it has to be shown, or a later one
	shown   int // how many observations since then
	leader  uint64
	index   int // of the value shown last
	highest uint64
}

// Follower makes the sight of somebody, named as in Call, who follows an election.
func (h *History) Follower(who, object string) *Follower {
	f := &Follower{onlooker: h.onlooker(who, object)}
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.object(object)
	o.watched = append(o.watched, f)
	return f
}

// misses says what of a leadership that has lasted the follower is not shown.
func (f *Follower) misses(op *Op) string {
	switch {
	case f.shown == 0:
	case f.leader != op.token:
		return fmt.Sprintf("it, but %d", f.leader)
	case f.index < op.certain:
		return "what it has proclaimed last"
	}
	return ""
}

// Begin records that it is about to look, or to look anew.
func (f *Follower) Begin() {
	h := f.h
	h.mu.Lock()
	defer h.mu.Unlock()
	f.shown, f.must, f.leader = 0, nil, 0
	o := h.object(f.name)
	for op := range o.holds {
		if o.counts(op) {
			f.must, f.certain = op, op.certain
		}
	}
}

// Saw records an observation, a leader's token with its value, or 0 for a vacancy, and
// judges it. No older leader is shown after a newer one, and none directly after
// another one. No older value is shown after a newer one of the same leader. The first
// observation is not older than the look.
func (f *Follower) Saw(token uint64, value string) {
	h := f.h
	h.mu.Lock()
	defer h.mu.Unlock()
	bad := func(format string, args ...any) {
		what := "a vacancy"
		if token != 0 {
			what = fmt.Sprintf("leader %d with the value %.40q", token, value)
		}
		h.breach(Observation, f.name, "%s is shown %s: %s", f.who, what, fmt.Sprintf(format, args...))
	}
	o := h.object(f.name)
	must := f.must // nil, but for the first observation
	f.must = nil
	if must != nil && token != must.token && o.counts(must) {
		if _, held := o.holds[must]; held {
			bad("%s led when it began to look, with token %d, and still does", must.who, must.token)
		}
	}
	f.shown++
	if token == 0 {
		if f.leader == 0 && f.shown > 1 {
			bad("for the second time")
		}
		f.leader = 0
		return
	}
	switch s, wrong := o.saidBy(value, token); {
	case wrong != "":
		bad("%s", wrong)
	case token < f.highest:
		bad("leader %d was shown before", f.highest)
	case f.leader != 0 && f.leader != token:
		bad("without a vacancy after leader %d", f.leader)
	case token == f.highest && s.index < f.index:
		bad("a later value was shown before")
	case s.op == must && s.index < f.certain:
		bad("a later one had been written before it began to look")
	default:
		f.index = s.index
	}
	f.leader, f.highest = token, max(f.highest, token)
}

// Anybody is the value with which a call stands that is to be refused: if the hold that
// refuses it was lost before, it may lead for a moment.
const Anybody = "to be refused"

// saidBy finds who has proclaimed a value and leads with a token, or may, as it is not
// on record yet who does; or says what is wrong.
func (o *object) saidBy(value string, token uint64) (s said, wrong string) {
	if value == Anybody {
		return said{op: new(Op)}, ""
	}
	all := o.said[value]
	wrong = "nobody has proclaimed that"
	for i := len(all) - 1; i >= 0; i-- { // the latest first, which may not be on record
		s = all[i]
		// An operator may have removed the entry that the call made first, before its
		// caller knew of it: then the call has led with a later one.
		first := token < s.op.token && (o.removing[token] != nil || o.lastRemoved >= s.op.called)
		if s.op.token == token || s.op.token == 0 || first {
			return s, ""
		}
		wrong = fmt.Sprintf("that is the value of leader %d", s.op.token)
	}
	return s, wrong
}

// Vacancy reports whether it was shown last that nobody leads, since it began.
func (f *Follower) Vacancy() bool {
	f.h.mu.Lock()
	defer f.h.mu.Unlock()
	return f.shown > 0 && f.leader == 0
}
