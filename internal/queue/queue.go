package queue

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// Queue is a line by name. It holds no state of its own: all of it is in the
// store, and in the sessions of the entries.
type Queue struct {
	client  *coord.Client
	session *coord.Session // nil: the one that the client shares
	what    string         // the recipe's kind and name, for people
	dir     string
	asks    string // the directory of those who ask an entry to leave
	held    any    // the heldKey of the line's entries
	rule    Rule
	encoder encoder
	err     error // the name is invalid

	suffice    func(line []driver.Node) bool // whether its names are enough for the rule; nil: never
	firstHolds bool                          // whoever stands behind it
}

// New returns the line called name of recipes of the given kind. An invalid
// name shows in every call that is made on the queue.
func New(client *coord.Client, kind, name string, rule Rule, opts []coord.RecipeOption) *Queue {
	var o coord.RecipeOptions
	for _, opt := range opts {
		opt(&o)
	}
	q := &Queue{client: client, session: o.Session, what: fmt.Sprintf("%s %.64q", kind, name), rule: rule, encoder: newEncoder(client.Owner())}
	q.dir, q.err = coord.Dir(kind, name)
	q.asks, _ = coord.Dir(kind+askSuffix, name) // valid if the other is
	q.held = heldKey{client, q.dir}
	switch s := o.Session; {
	case s == nil || s.Client() == client:
	case s.Client() == nil:
		q.err = fmt.Errorf("%w session: it is nil", coord.ErrInvalid)
	default:
		q.err = fmt.Errorf("%w session: it belongs to another client", coord.ErrInvalid)
	}
	return q
}

// ByName says that the rule looks at names and order only, and not at data, which
// on some stores saves one request for each node, and that the first of the line
// holds, whoever stands behind it. It returns q.
func (q *Queue) ByName() *Queue {
	q.firstHolds = true
	return q.ByNames(func([]driver.Node) bool { return true })
}

// ByNames says that there are lines of which the rule needs names and order only:
// those for which suffice, a pure function, is true. The Data of their nodes may be
// missing when the rule is asked, and is not to change its answer. Of another line
// the data are listed as well, together with the names: no verdict is reached by
// the names of one state and the data of another. It returns q.
func (q *Queue) ByNames(suffice func(line []driver.Node) bool) *Queue {
	q.suffice = suffice
	return q
}

// Request is what an entry brings to the line.
type Request struct {
	// Kind begins the node's id, for rules that tell kinds apart. It is a
	// lower-case letter, or empty, and not "g", the kind of gates.
	Kind string

	// Terms are in the node's id too, for rules that can do without data. They
	// begin with a digit and end with a letter. Stores remember the names of what
	// was deleted, so there must be few of them; and where the id would become too
	// long they are left out, so what they say has to be in Value as well.
	Terms string

	// Value is what the recipe stores with the entry.
	Value []byte

	// Waiting, if it is not nil, is stored instead of Value as soon as the entry
	// finds that it has to wait.
	Waiting []byte

	// Gate: while the entry is blocked it has a gate in the line, a node of its
	// own which is gone as soon as the entry holds or has left. See NearestGate.
	Gate bool

	stays     bool // the entry keeps its place from when it is made, and not only when it has seen it
	inPlaceOf *place
	gateOf    *Entry
}

// Acquire joins the line at its end and waits until the rule lets the entry
// hold. ctx bounds the joining and waiting. Who cannot join because the store is out
// of reach gives up after the client's TTL; who has joined keeps the place, for as
// long as the session lives. After an error no entry is left: what may still be in the
// store, or on its way there, is cleared up in the background until it surely is gone
// or the session is.
func (q *Queue) Acquire(ctx context.Context, req Request) (*Entry, error) {
	req.stays = true
	e, line, err := q.join(ctx, req, byRule)
	if err != nil {
		return nil, q.fail("acquire", err)
	}
	if err := e.await(ctx, line, req); err != nil {
		e.discard()
		return nil, q.fail("acquire", err)
	}
	return e, nil
}

// TryAcquire joins the line only if nobody in it is in the way. Otherwise the
// error Is coord.ErrBusy, and the line is not disturbed: it looks before it
// joins, so that those who only try do not make those who wait wait longer.
func (q *Queue) TryAcquire(ctx context.Context, req Request) (*Entry, error) {
	nodes, err := q.list(ctx)
	if err != nil {
		return nil, q.fail("try", err)
	}
	if err := q.free(append(slices.Clip(nodes), q.newcomer(req)), len(nodes)); err != nil {
		return nil, q.fail("try", err)
	}
	// What only looks like a node is found out by its data, or by those who wait
	// for it, and nobody does here. Most of the line has just been read.
	e, line, err := q.join(ctx, req, inFull)
	if err != nil {
		return nil, q.fail("try", err)
	}
	if own, there := e.find(line); there {
		err = q.free(line, own)
	} else {
		err = e.whyGone(ctx)
	}
	if err != nil { // somebody came between the look and the joining
		if left := e.Leave(ctx); left != nil {
			err = fmt.Errorf("%w: %w", err, left)
		}
		return nil, q.fail("try", err)
	}
	if err := e.grant(); err != nil {
		e.discard()
		return nil, q.fail("try", err)
	}
	return e, nil
}

// free returns nil if the entry can hold.
func (q *Queue) free(line []driver.Node, own int) error {
	switch v := q.rule(line, own); {
	case v.Refused != nil:
		return v.Refused
	case v.Blocked:
		return coord.ErrBusy
	}
	return nil
}

// newcomer is a node as the request would make it.
func (q *Queue) newcomer(req Request) driver.Node {
	return driver.Node{Dir: q.dir, ID: slotID(req.Kind, req.Terms, 0), Seq: math.MaxUint64, Data: q.encoder.encode(time.Now(), req)}
}

// Contenders looks at the line as it is now, without joining it. describe, if
// it is not nil, adds what only the recipe knows of a node.
func (q *Queue) Contenders(ctx context.Context, describe func(driver.Node, *coord.Contender)) (coord.Contenders, error) {
	nodes, err := q.Line(ctx)
	if err != nil {
		return coord.Contenders{}, err
	}
	var c coord.Contenders
	for i, n := range nodes {
		v := q.rule(nodes, i)
		if v.Aside {
			continue
		}
		one := Contender(n)
		if describe != nil {
			describe(n, &one)
		}
		if !v.Granted && (v.Blocked || v.Refused != nil) {
			c.Waiters = append(c.Waiters, one)
		} else {
			c.Holders = append(c.Holders, one)
		}
	}
	return c, nil
}

// Line returns what is in the line as it is now, without joining it.
func (q *Queue) Line(ctx context.Context) ([]driver.Node, error) {
	nodes, err := q.list(ctx)
	if err != nil {
		return nil, q.fail("list", err)
	}
	return nodes, nil
}

func (q *Queue) list(ctx context.Context) ([]driver.Node, error) {
	if q.err != nil {
		return nil, q.err
	}
	return q.client.List(ctx, q.dir)
}

// fail names the queue in an error.
func (q *Queue) fail(op string, err error) error {
	return fmt.Errorf("coordkit: %s %s: %w", op, q.what, err)
}

// join makes an entry of the line's session and returns it with the line.
func (q *Queue) join(ctx context.Context, req Request, v view) (*Entry, []driver.Node, error) {
	if q.err != nil {
		return nil, nil, q.err
	}
	if ctx.Err() != nil {
		return nil, nil, driver.ContextError(ctx)
	}
	s, err := q.sessionFor(ctx)
	if err != nil {
		return nil, nil, err
	}
	return q.enter(ctx, s, q.dir, req, v)
}

// sessionFor returns the session of the line's entries.
func (q *Queue) sessionFor(ctx context.Context) (*coord.Session, error) {
	if q.session != nil {
		return q.session, nil
	}
	return q.client.Session(ctx)
}

// enter makes an entry in one of the queue's directories, and returns it with as
// much of that as v says.
func (q *Queue) enter(ctx context.Context, s *coord.Session, dir string, req Request, v view) (*Entry, []driver.Node, error) {
	r := rosterOf(s)
	e := &Entry{queue: q, session: s, roster: r, dir: dir, since: time.Now(), place: req.inPlaceOf, gateOf: req.gateOf}
	e.hurried = q.aheadPays() && r.letGoSince(dir, e.since.Add(-hurry))
	if e.gateOf != nil {
		e.slot = e.gateOf.slot
	} else {
		e.slot = r.take(dir)
	}
	id, data := slotID(req.Kind, req.Terms, e.slot), q.encoder.encode(e.since, req)
	var known struct { // in one piece, for what a closure refers to is allocated
		nodes   []driver.Node
		made    bool // the store has said that there is a node
		unclear bool // a failed create may have left something
	}
	create := func(ctx context.Context) (err error) {
		e.node, known.nodes, err = q.create(ctx, s.Driver(), dir, id, data, v)
		// A node without a list is one that was made and could not be looked at.
		known.made = known.made || e.node.Key != ""
		known.unclear = known.unclear || known.made || !refused(err)
		return err
	}
	standing := e.gateOf != nil || e.place != nil // there is a place already
	var err error
	if !standing {
		err = q.client.Retry(ctx, create)
		standing = err != nil && req.stays && known.made && ctx.Err() == nil && driver.Transient(err)
	}
	if standing {
		err = s.Retry(ctx, create)
	}
	switch {
	case err == nil:
		e.token = e.node.Token
		if e.place != nil {
			e.token = e.place.Token
		}
		r.enter(e)
		return e, known.nodes, nil
	case known.unclear:
		q.abandon(e, id)
	default:
		r.give(e)
	}
	return nil, nil, err
}

// find returns the entry's index in a listing of its line. A listing always
// holds one's own acknowledged entry (rule L3), so if it is not there, somebody
// else has removed it, or the store has ended its session.
func (e *Entry) find(line []driver.Node) (own int, there bool) {
	if last := len(line) - 1; last >= 0 && line[last].Same(e.node) {
		return last, true // as of whoever has just joined; a search goes through all of the line's memory
	}
	i, found := slices.BinarySearchFunc(line, e.node.Seq, func(n driver.Node, seq uint64) int {
		return cmp.Compare(n.Seq, seq)
	})
	return i, found && line[i].Same(e.node)
}
