package queue

import (
	"context"
	"errors"
	"fmt"
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
	rule    Rule
	encoder encoder
	err     error // the name is invalid
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
	if o.Session != nil && o.Session.Client() != client {
		q.err = fmt.Errorf("%w session: it belongs to another client", coord.ErrInvalid)
	}
	return q
}

// Request is what an entry brings to the line.
type Request struct {
	Kind  string // begins the node's id, for rules that tell kinds apart; letters
	Value []byte // what the recipe stores with the entry
}

// Acquire joins the line at its end and waits until the rule lets the entry
// hold. ctx bounds the joining and waiting. After an error no entry is left:
// what may still be in the store, or on its way there, is cleared up in the
// background until it surely is gone or the session is.
func (q *Queue) Acquire(ctx context.Context, req Request) (*Entry, error) {
	e, ahead, err := q.join(ctx, req)
	if err != nil {
		return nil, q.fail("acquire", err)
	}
	if err := e.await(ctx, ahead); err != nil {
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
	if q.rule(driver.Node{Dir: q.dir, ID: slotID(req.Kind, 0)}, nodes).Blocked {
		return nil, q.fail("try", coord.ErrBusy)
	}
	e, ahead, err := q.join(ctx, req)
	if err != nil {
		return nil, q.fail("try", err)
	}
	if q.rule(e.node, ahead).Blocked { // somebody came between the look and the joining
		if err := e.Leave(ctx); err != nil {
			return nil, q.fail("try", fmt.Errorf("%w: %w", coord.ErrBusy, err))
		}
		return nil, q.fail("try", coord.ErrBusy)
	}
	if err := e.grant(); err != nil {
		e.discard()
		return nil, q.fail("try", err)
	}
	return e, nil
}

// Contenders looks at the line as it is now, without joining it.
func (q *Queue) Contenders(ctx context.Context) (coord.Contenders, error) {
	nodes, err := q.list(ctx)
	if err != nil {
		return coord.Contenders{}, q.fail("list", err)
	}
	var c coord.Contenders
	for i, n := range nodes {
		if q.rule(n, nodes[:i]).Blocked {
			c.Waiters = append(c.Waiters, contender(n))
		} else {
			c.Holders = append(c.Holders, contender(n))
		}
	}
	return c, nil
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

// join makes an entry and returns it with those ahead of it.
func (q *Queue) join(ctx context.Context, req Request) (*Entry, []driver.Node, error) {
	if q.err != nil {
		return nil, nil, q.err
	}
	if len(req.Value) > coord.MaxValue {
		return nil, nil, fmt.Errorf("%w value: it has %d bytes; want at most %d", coord.ErrInvalid, len(req.Value), coord.MaxValue)
	}
	if ctx.Err() != nil {
		return nil, nil, driver.ContextError(ctx)
	}
	s := q.session
	if s == nil {
		var err error
		if s, err = q.client.Session(ctx); err != nil {
			return nil, nil, err
		}
	}
	r := rosterOf(s)
	e := &Entry{queue: q, session: s, roster: r, slot: r.take(q.dir), gone: make(chan struct{})}
	id, data := slotID(req.Kind, e.slot), q.encoder.encode(time.Now(), req.Value)
	var nodes []driver.Node
	certain := true // that a failed create has left nothing
	err := q.client.Retry(ctx, func(ctx context.Context) (err error) {
		e.node, nodes, err = createList(ctx, s.Driver(), q.dir, id, data)
		// A node without a list is one that was made and could not be looked at.
		certain = certain && e.node.Key == "" && refused(err)
		return err
	})
	switch {
	case err == nil:
	case certain:
		r.give(q.dir, e.slot)
		return nil, nil, err
	default:
		q.abandon(s, r, e.slot, id)
		return nil, nil, err
	}
	r.enter(e)
	ahead, err := e.ahead(nodes)
	if err != nil {
		e.discard()
		return nil, nil, err
	}
	return e, ahead, nil
}

// refused reports whether err says that a create was not applied and will not
// be.
func refused(err error) bool {
	return errors.Is(err, coord.ErrUnavailable) || errors.Is(err, coord.ErrInvalid) || errors.Is(err, coord.ErrDenied)
}

// createList takes one round trip where the driver knows how.
func createList(ctx context.Context, s driver.Session, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
	if fast, ok := driver.As[driver.CreateLister](s); ok {
		return fast.CreateList(ctx, dir, id, data)
	}
	n, err := s.Create(ctx, dir, id, data)
	if err != nil {
		return n, nil, err
	}
	nodes, err := s.List(ctx, dir)
	return n, nodes, err
}

// abandon makes sure, on the session's time, that a create whose outcome is
// not known leaves nothing, and only then lets its slot be used again.
func (q *Queue) abandon(s *coord.Session, r *roster, slot int, id string) {
	s.Go(func(ctx context.Context) {
		if persist(ctx, q.client, func(ctx context.Context) error { return s.Driver().Abandon(ctx, q.dir, id) }) {
			r.give(q.dir, slot)
		}
	})
}

// persist calls op until it succeeds or ctx, a session's, ends. It reports
// which. Every error is tried again: a permission may come back, and what is
// not cleared up blocks everybody else.
func persist(ctx context.Context, c *coord.Client, op func(context.Context) error) bool {
	for {
		err := c.Retry(ctx, op)
		if err == nil {
			return true
		}
		pause := time.NewTimer(time.Second)
		select {
		case <-ctx.Done(): // the store removes what the session had
			pause.Stop()
			return false
		case <-pause.C:
		}
	}
}

// ahead finds the entry in a listing of its line and returns those before it.
// A listing always holds one's own acknowledged entry (rule L3), so if it is
// not there, somebody else has removed it.
func (e *Entry) ahead(nodes []driver.Node) ([]driver.Node, error) {
	i, found := slices.BinarySearchFunc(nodes, e.node.Seq, func(n driver.Node, seq uint64) int {
		switch {
		case n.Seq < seq:
			return -1
		case n.Seq > seq:
			return 1
		}
		return 0
	})
	if !found || !nodes[i].Same(e.node) {
		return nil, coord.ErrRemoved
	}
	return nodes[:i], nil
}
