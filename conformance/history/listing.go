package history

import (
	"errors"
	"time"

	"github.com/coordkit/coordkit/coord"
)

// Look is one listing of an object's holders and waiters. It is for one goroutine.
type Look struct {
	h           *History
	who, client string
	o           *object
	since       time.Duration
	must        map[*Op]int // the holders that have to be shown, with the index of the value
}

// Looking records that somebody, named as in Call, is about to list an object's
// contenders.
func (h *History) Looking(who, object string) *Look {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := &Look{h, who, clientOf(who), h.object(object), time.Since(h.start), make(map[*Op]int)}
	for op := range l.o.holds {
		if l.o.counts(op) && !op.traded {
			l.must[op] = op.certain
		}
	}
	return l
}

// Listed records what it saw, or the error, and judges that those who held before it
// and still do are listed as what they are. ended and overdue are as in Failed.
func (l *Look) Listed(c coord.Contenders, err, ended error, overdue time.Duration) {
	h := l.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if overdue > h.o.Late {
		h.breach(Deadline, l.o.name, "%s: the listing of %s returned %v after its ctx had ended", l.who, l.o.name, overdue)
	}
	if err != nil {
		if ended == nil || !errors.Is(err, ended) {
			h.justify(l.client, l.o.name, l.since, err, l.who+" cannot list "+l.o.name)
		}
		return
	}
	held := make(map[uint64]coord.Contender)
	for _, one := range c.Holders {
		held[one.Token], l.o.listed[one.Token] = one, one
	}
	for _, one := range c.Waiters {
		l.o.listed[one.Token] = one
	}
	for op, certain := range l.must {
		if _, holds := l.o.holds[op]; !holds || !l.o.counts(op) || op.traded {
			continue
		}
		one, there := held[op.token]
		if !there {
			if l.o.varies {
				continue // at the moment of a change who was just let in may show as waiting
			}
			h.breach(Listing, l.o.name, "%s is listed %d holders of %s, and %s, which held it before with token %d, is not among them",
				l.who, len(c.Holders), l.o.name, op.who, op.token)
			continue
		}
		op.judgeListed("is", one)
		if op.values == 0 {
			continue
		}
		if s, wrong := l.o.saidBy(string(one.Value), op.token); wrong != "" || s.op != op || s.index < certain {
			h.breach(Value, l.o.name, "%s is listed as the holder of %s with the value %.40q, which is not what it has proclaimed last", op.who, l.o.name, one.Value)
		}
	}
}

// Nobody records that somebody was told that nobody leads, and judges that nobody
// has led all the while.
func (l *Look) Nobody() {
	l.Listed(coord.Contenders{}, nil, nil, 0)
}

// judgeListed judges how the holder, or the waiter that it was, is listed.
func (op *Op) judgeListed(verb string, c coord.Contender) {
	mode := map[Kind]coord.Mode{Exclusive: coord.Writing, Shared: coord.Reading}[op.grantedAs]
	wrong := func(what string, got, want any) {
		op.h.breach(Listing, op.name, "%s %s listed with the %s %v; want %v", op.who, verb, what, got, want)
	}
	switch {
	case c.Owner.Name != "" && c.Owner.Name != op.client:
		wrong("owner", c.Owner.Name, op.client)
	case c.Session != "" && op.session != "" && c.Session != op.session:
		wrong("session", c.Session, op.session)
	case op.kind == Permits && c.Permits != op.permits:
		wrong("permits", c.Permits, op.permits)
	case op.kind != Permits && c.Mode != "" && !op.traded && c.Mode != mode:
		wrong("mode", c.Mode, mode)
	}
}
