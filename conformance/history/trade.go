package history

import "slices"

// Downgrading records that an exclusive hold is about to be traded for a shared
// one: from now on others may share.
func (op *Op) Downgrading() {
	h := op.h
	h.mu.Lock()
	defer h.mu.Unlock()
	op.kind, op.traded = Shared, true
	op.inside = slices.DeleteFunc(slices.Clone(op.more), func(h Hold) bool { return h.Context().Err() != nil })
	h.add(op.name, op.who, "downgrades %s with token %d", op.name, op.token)
}

// NotDowngraded records that the trade has failed, which leaves the hold as it
// was.
func (op *Op) NotDowngraded(err error) {
	h := op.h
	h.mu.Lock()
	defer h.mu.Unlock()
	op.kind = Exclusive
	h.add(op.name, op.who, "has not downgraded %s with token %d: %v", op.name, op.token, err)
}

// Downgraded records that the trade has given another hold, and judges that it
// takes the place of the first: it has its token, and nobody who excludes it was
// let in in between.
func (op *Op) Downgraded(hold Hold) {
	h := op.h
	h.mu.Lock()
	defer h.mu.Unlock()
	op.overAt = 0
	op.heed(hold)
	for _, inner := range op.inside {
		if inner.Context().Err() == nil {
			h.breach(Trade, op.name, "%s has downgraded %s with token %d, which it had entered again and not left", op.who, op.name, op.token)
		}
	}
	h.add(op.name, op.who, "has downgraded %s, token %d", op.name, hold.Token())
	if hold.Token() != op.token {
		h.breach(Trade, op.name, "%s has downgraded %s from token %d to another one, %d", op.who, op.name, op.token, hold.Token())
	}
	o := h.object(op.name)
	if !o.counts(op) {
		return
	}
	for other := range o.holds {
		if other != op && other.kind == Exclusive && o.counts(other) {
			h.breach(Exclusion, op.name, "%s got %s with token %d while %s downgraded it", other.who, other.wanted(), other.token, op.who)
		}
	}
}
