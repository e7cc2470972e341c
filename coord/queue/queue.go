package queue

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// Queue is a line by name. All methods are safe for concurrent use.
type Queue struct {
	client  *coord.Client
	session *coord.Session // nil: the one that the client shares
	what    string         // the recipe's kind and name, for errors
	dir     string
	asks    string // the directory of requests to leave
	rule    Rule
	suffice func(line []driver.Node) bool // nil: names are never enough
	err     error                         // a mistake in the arguments of New

	contended atomic.Bool // the last entry that Acquire made had to wait
}

// New returns the line called name of the recipes of a kind, a word such as "mutex". If the
// name, or a session given by coord.WithSession, is not valid, each later call returns an
// error that Is coord.ErrInvalid.
func New(client *coord.Client, kind, name string, rule Rule, opts ...coord.RecipeOption) *Queue {
	var o coord.RecipeOptions
	for _, opt := range opts {
		opt(&o)
	}
	q := &Queue{client: client, session: o.Session, what: fmt.Sprintf("%s %.64q", kind, name), rule: rule}
	q.dir, q.err = coord.Dir(kind, name)
	q.asks, _ = coord.Dir(kind+"-revoke", name) // valid if the other is
	switch s := o.Session; {
	case s == nil || s.Client() == client:
	case s.Client() == nil:
		q.err = fmt.Errorf("%w session: it is nil", coord.ErrInvalid)
	default:
		q.err = fmt.Errorf("%w session: it belongs to another client", coord.ErrInvalid)
	}
	return q
}

// ByNames says that the rule needs no Data of a line for which suffice, a pure function,
// returns true, and of no line if suffice is nil. On stores whose lists are names this saves
// a request for each node. ByNames returns q; call it before q is used.
func (q *Queue) ByNames(suffice func(line []driver.Node) bool) *Queue {
	if suffice == nil {
		suffice = func([]driver.Node) bool { return true }
	}
	q.suffice = suffice
	return q
}

// Line returns the line as it is now. ctx and the client's TTL bound it.
func (q *Queue) Line(ctx context.Context) (line []driver.Node, err error) {
	defer q.named("list", &err)
	return q.list(ctx)
}

func (q *Queue) list(ctx context.Context) ([]driver.Node, error) {
	if q.err != nil {
		return nil, q.err
	}
	return q.client.List(ctx, q.dir)
}

// Watch yields the line and each change of it, as coord.Client.Watch does. The consumer must
// not change what it is given.
func (q *Queue) Watch(ctx context.Context) iter.Seq2[[]driver.Node, error] {
	if q.err != nil {
		return func(yield func([]driver.Node, error) bool) { yield(nil, q.fail("watch", q.err)) }
	}
	return q.client.Watch(ctx, q.dir)
}

// Contenders returns the holders and the waiters as of now. describe, which may be nil, adds
// what only the recipe knows of a node. ctx and the client's TTL bound it.
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

// fail names the queue in an error.
func (q *Queue) fail(op string, err error) error {
	return fmt.Errorf("coordkit: %s %s: %w", op, q.what, err)
}

// named is fail for a deferred call.
func (q *Queue) named(op string, err *error) {
	if *err != nil {
		*err = q.fail(op, *err)
	}
}
