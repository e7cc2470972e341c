package history

import (
	"fmt"
	"time"

	"github.com/coordkit/coordkit/coord"
)

// object is what is acquired.
type object struct {
	h       *History
	name    string
	limit   int // of permits, the greatest that may be in force
	least   int // the smallest
	varies  bool
	holds   map[*Op]struct{}
	tokens  map[uint64]*Op // all that were granted
	highest uint64         // of them
	grants  []*Op          // that counted, in the order in which they came
	said    map[string][]said
	watched []watching
	asks    map[uint64][]*Ask          // by the token of the hold they are about
	listed  map[uint64]coord.Contender // by token, as listed last

	removing    map[uint64]*excuse // entries, by token
	hit         map[string]*excuse // sessions: the last removal of an entry of theirs
	removals    int                // of the whole line, under way
	operators   int                // removals of entries or the line, under way
	lastRemoved time.Duration      // when an entry or the line was; negative if never
}

func (h *History) object(name string) *object {
	o := h.objects[name]
	if o == nil {
		o = &object{
			h: h, name: name, holds: make(map[*Op]struct{}), tokens: make(map[uint64]*Op),
			removing: make(map[uint64]*excuse), hit: make(map[string]*excuse), lastRemoved: -1, said: make(map[string][]said),
			asks: make(map[uint64][]*Ask), listed: make(map[uint64]coord.Contender),
		}
		h.objects[name] = o
	}
	return o
}

// Limit says how many permits of an object may be held together from now on.
func (h *History) Limit(name string, permits int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.object(name)
	o.limit, o.least = permits, permits
	h.mayBe(name, permits)
}

// MayBe says that another number of permits may be in force beside those that
// were, until Limit says which it is.
func (h *History) MayBe(name string, permits int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.object(name)
	o.limit, o.least, o.varies = max(o.limit, permits), min(o.least, permits), true
	h.mayBe(name, permits)
}

// mayBe lets the calls under way be granted, or refused, by a limit.
func (h *History) mayBe(name string, permits int) {
	for op := range h.open {
		if op.name == name {
			op.limit, op.least = max(op.limit, permits), min(op.least, permits)
		}
	}
}

// counts reports whether a hold is in force as far as anybody can tell.
func (o *object) counts(op *Op) bool {
	switch {
	case op.unjudged || !op.inForce():
		return false
	case o.h.ending[op.session] != nil || o.h.killed[op.client]:
		return false
	}
	e := o.hit[op.session]
	return e == nil || e.done && op.called > e.at
}

// judge judges a grant.
func (o *object) judge(op *Op) {
	o.judgeToken(op)
	if c, any := o.listed[op.token]; any {
		op.judgeListed("was", c)
	}
	if !o.counts(op) {
		return // it was over before it could be looked at
	}
	o.judgeTogether(op)
	o.judgeOrder(op)
	o.grants = append(o.grants, op)
}

// judgeToken: the token is given with the place in line, so whoever calls after
// a grant stands behind it.
func (o *object) judgeToken(op *Op) {
	if other := o.tokens[op.token]; other != nil {
		o.h.breach(Tokens, o.name, "%s got %s with token %d, which %s was given before", op.who, o.name, op.token, other.who)
	} else if op.token <= op.floor {
		o.h.breach(Tokens, o.name, "%s got %s with token %d, and had not even called when token %d was granted",
			op.who, o.name, op.token, op.floor)
	}
	o.tokens[op.token] = op
	o.highest = max(o.highest, op.token)
}

// judgeTogether: what is held at this moment can be held together.
func (o *object) judgeTogether(op *Op) {
	permits := op.permits
	for other := range o.holds {
		exclusive := op.kind == Exclusive || other.kind == Exclusive
		if !o.counts(other) {
			if exclusive && other.inForce() && !o.h.killed[other.client] {
				o.excuse(op, other)
			}
			continue
		}
		permits += other.permits
		if other.token < op.token {
			op.ahead += other.permits
		}
		switch {
		case !exclusive:
		case o.h.mayEnd != "":
			o.excuse(op, other)
		default:
			o.h.breach(Exclusion, o.name, "%s", together(op, other))
		}
	}
	if op.kind == Permits && permits > op.limit {
		o.h.breach(Exclusion, o.name, "%d permits of %s are held, after %s got %d; the limit is %d", permits, o.name, op.who, op.permits, op.limit)
	}
}

func together(op, other *Op) string {
	return fmt.Sprintf("%s holds %s with token %d while %s holds it (%s) with token %d and was told nothing",
		op.who, op.wanted(), op.token, other.who, other.kind, other.token)
}

// excuse records a grant that an earlier hold could not be told of in time. What
// its tokens order is still judged.
func (o *object) excuse(op, other *Op) {
	h := o.h
	why := h.mayEnd
	if why == "" {
		why = "it was ended from outside"
	}
	v := h.found(Exclusion, o.name, "%s; %s", together(op, other), why)
	h.excused = append(h.excused, v)
	h.add(o.name, "", "excused: %s", v.Text)
	if op.token <= other.token {
		h.breach(Exclusion, o.name, "%s; the tokens do not order them", together(op, other))
	}
}

// judgeOrder: op is known by now to have stood ahead of some who were granted
// while it waited. They may have been only if op and they can hold together.
func (o *object) judgeOrder(op *Op) {
	for i := len(o.grants) - 1; i >= 0 && o.grants[i].grantStep > op.calledStep; i-- {
		other := o.grants[i]
		if other.token < op.token && !o.cameFirst(op, other) {
			continue
		}
		switch {
		case op.grantedAs == Exclusive || other.grantedAs == Exclusive:
			o.h.breach(Order, o.name, "%s, which called for %s at %v and got token %d, was overtaken by %s, which called at %v and was granted %s with token %d at %v",
				op.who, op.wanted(), op.called, op.token, other.who, other.called, o.name, other.token, other.grantedAt)
		case op.kind == Permits:
			if other.ahead += op.permits; other.ahead+other.permits > other.limit {
				o.h.breach(Order, o.name, "%s, which called for %s at %v and got token %d, was overtaken by %s, which called at %v and was granted %d with token %d at %v, when %d were held or waited for ahead of it; the limit is %d",
					op.who, op.wanted(), op.called, op.token, other.who, other.called, other.permits, other.token, other.grantedAt, other.ahead, other.limit)
			}
		}
	}
}

// cameFirst reports whether op surely stood in line before other called: it had
// called so long before, and the way to the store was open.
func (o *object) cameFirst(op, other *Op) bool {
	h := o.h
	return h.o.Exact && !op.later && other.called > op.called+h.o.Late &&
		h.troubled(op.client, op.called-2*h.o.TTL, op.called+h.o.Late) == 0
}
