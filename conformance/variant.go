package conformance

import (
	"context"

	"github.com/coordkit/coordkit/coord/driver"
)

// variant is a way to run a case: with an optional call of the driver in the place of a
// plain one, for which the same holds. The zero variant makes the plain calls.
type variant struct {
	call    string // the optional call
	offered func(driver.Session) bool

	// What is nil is done by Create, Session.List and WaitDelete.
	create func(ctx context.Context, t *Trial, s driver.Session, dir, id string, data []byte) (driver.Node, []driver.Node, error)
	list   func(ctx context.Context, t *Trial, s driver.Session, dir string) ([]driver.Node, error)
	wait   func(t *Trial, s driver.Session, n driver.Node) (wait func(ctx context.Context) error)
}

// cases are the cases of rules, run in this way, but for those that count what is in the
// store: where others are counted too, a rule that has one is run alone. Their names begin
// with the ID of the rule: "C2 reply lost".
func (v variant) cases(rules ...Rule) (cases []Case) {
	for _, r := range rules {
		for _, c := range r.Cases {
			if c.Needs&NeedResidue != 0 {
				continue
			}
			plain := c.Check
			cases = append(cases, Case{
				Name: r.ID + " " + c.Name, Needs: c.Needs, plain: plain, idle: c.idle, virtual: c.virtual, patience: c.patience,
				Check: func(t *Trial) {
					t.with = v
					plain(t)
				},
			})
		}
	}
	return cases
}

// offers reports whether a session has an optional interface.
func offers[T any](s driver.Session) bool {
	_, ok := driver.As[T](s)
	return ok
}

// create makes one attempt to make a node, by the call that the case is about. The list
// is nil if that call gives none.
func (t *Trial) create(ctx context.Context, s driver.Session, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
	if t.with.create != nil {
		return t.with.create(ctx, t, s, dir, id, data)
	}
	n, err := s.Create(ctx, dir, id, data)
	return n, nil, err
}

// listOnce makes one attempt to list likewise.
func (t *Trial) listOnce(ctx context.Context, s driver.Session, dir string) ([]driver.Node, error) {
	if t.with.list != nil {
		return t.with.list(ctx, t, s, dir)
	}
	return s.List(ctx, dir)
}

// waitFor returns the call that waits likewise.
func (t *Trial) waitFor(s driver.Session, n driver.Node) (wait func(ctx context.Context) error) {
	if t.with.wait != nil {
		return t.with.wait(t, s, n)
	}
	return func(ctx context.Context) error { return s.WaitDelete(ctx, n) }
}

// andCtxAlive adds to cases in which a ctx ends calls the same with a ctx that lives: the
// driver ends an attempt by its own limit, as for callers that try again.
func andCtxAlive(cases ...Case) []Case {
	for _, c := range cases {
		check := c.Check
		c.Name += ", ctx alive"
		c.Check = func(t *Trial) {
			t.ctxAlive = true
			check(t)
		}
		cases = append(cases, c)
	}
	return cases
}
