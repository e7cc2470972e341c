package queue

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// Request is what an entry brings to the line.
type Request struct {
	// Kind begins the node's id, for rules that tell kinds apart: lower-case letters but "g".
	Kind string

	// Terms are in the node's id too, for rules that need no data. They begin with a
	// digit, end with a letter, and come from a small set (see slotID). Terms that make the
	// id too long are left out, so Value has to say the same.
	Terms string

	// Value is what the recipe stores with the entry, up to coord.MaxValue bytes.
	Value []byte

	// Waiting, if it is not nil, replaces Value as soon as the entry has to wait. If the
	// Queue's last entry had to wait, the entry begins with it.
	Waiting []byte

	// Gate: while the entry is blocked it has a gate in the line. See NearestGate.
	Gate bool

	keeps    bool   // once the node is made the place is kept, although it was not listed yet
	replaces *place // of the entry that this one replaces
	gateOf   *Entry
}

// view is how much of a line the maker of an entry needs.
type view int

const (
	noLine  view = iota
	byName       // names and order
	forRule      // what the rule needs
	inFull       // all data
)

// join makes an entry of the queue's session at the end of one of its directories.
func (q *Queue) join(ctx context.Context, dir string, req Request, want view) (*Entry, []driver.Node, error) {
	err := cmp.Or(q.err, driver.ContextError(ctx))
	s := q.session
	if err == nil && s == nil {
		s, err = q.client.Session(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	return q.enter(ctx, s, dir, req, want)
}

// enter makes an entry in a directory, and returns it with as much of the directory as is
// wanted. It tries for as long as the client's TTL; an entry that has a place to keep tries
// while its session lives. After an error nothing is left, or is cleared up in the background.
func (q *Queue) enter(ctx context.Context, s *coord.Session, dir string, req Request, want view) (*Entry, []driver.Node, error) {
	e := &Entry{
		queue: q, session: s, local: localOf(s), dir: dir, since: time.Now(), replaces: req.replaces, gateOf: req.gateOf,
		gone: make(chan struct{}), writing: make(chan struct{}, 1),
	}
	e.life, e.endLife = context.WithCancel(s.Context())
	var data []byte
	if e.gateOf != nil {
		e.slot = e.gateOf.slot
	} else {
		e.slot = e.local.take(dir)
		if e.waited = req.Waiting != nil && q.contended.Load(); e.waited {
			req.Value = req.Waiting
		}
		data = e.encode(req.Value)
	}
	id := slotID(req.Kind, req.Terms, e.slot)
	var line []driver.Node
	made, unclear := false, false // there is a node; a failed create may have left one
	create := func(ctx context.Context) (err error) {
		e.node, line, err = q.create(ctx, s.Driver(), dir, id, data, want)
		made = made || e.node.Key != ""
		unclear = unclear || made || !refused(err)
		return err
	}
	hasPlace := e.gateOf != nil || e.replaces != nil
	var err error
	if !hasPlace {
		err = q.client.Retry(ctx, create)
		hasPlace = req.keeps && made && driver.Transient(err)
	}
	if hasPlace {
		err = s.Retry(ctx, create)
	}
	if err == nil {
		e.token = e.node.Token
		if e.replaces != nil {
			e.token = e.replaces.Token
		}
		e.local.add(e)
		return e, line, nil
	}
	e.endLife()
	if unclear {
		e.abandon(id)
	} else {
		e.local.forget(e)
	}
	return nil, nil, err
}

// encode makes the entry's data.
func (e *Entry) encode(value []byte) []byte {
	return header{e.queue.client.Owner(), e.since.UTC(), e.replaces}.encode(value)
}

// create makes a node and lists its directory, by one call where the driver can. If the
// list fails, it returns the node with the error.
func (q *Queue) create(ctx context.Context, s driver.Session, dir, id string, data []byte, want view) (n driver.Node, line []driver.Node, err error) {
	lister, one := driver.As[driver.CreateLister](s)
	_, names := driver.As[driver.NameLister](s)
	if one && want > noLine {
		n, line, err = lister.CreateList(ctx, dir, id, data)
		switch {
		case err != nil, !names, want == byName, want == forRule && q.suffice != nil && q.suffice(line),
			!slices.ContainsFunc(line, func(n driver.Node) bool { return n.Data == nil }):
			return n, line, err
		case len(line) == 1: // n, whose data are known
			return n, []driver.Node{n}, nil
		}
	} else {
		n, err = s.Create(ctx, dir, id, data)
		if err != nil || want == noLine {
			return n, nil, err
		}
	}
	line, err = s.List(ctx, dir)
	return n, line, err
}

// look lists what the rule needs, which is no entry behind last, while the session lives.
func (e *Entry) look(ctx context.Context, last uint64) (line []driver.Node, err error) {
	s := e.session.Driver()
	err = e.session.Retry(ctx, func(ctx context.Context) (err error) {
		if names, ok := driver.As[driver.NameLister](s); ok && e.queue.suffice != nil {
			line, err = names.ListNames(ctx, e.dir, last)
			if err != nil || e.queue.suffice(line) {
				return err
			}
		}
		line, err = s.List(ctx, e.dir)
		return err
	})
	return line, err
}

// find returns a node's index in a line, or -1: an operator or the store has removed it, as
// a session's list holds the session's own acknowledged nodes (rule L3).
func find(line []driver.Node, n driver.Node) int {
	return slices.IndexFunc(line, n.Same)
}
