package conformance

import (
	"context"

	"github.com/coordkit/coordkit/coord/driver"
)

// Unwrap makes the optional interfaces reachable that the driver's session has, one
// behind the other, each through the tap.
func (s tappedSession) Unwrap() (next any) {
	if fast, ok := driver.As[driver.AnyWaiter](s.Session); ok {
		next = tappedAny{s, fast, next}
	}
	if fast, ok := driver.As[driver.NameLister](s.Session); ok {
		next = tappedNames{s, fast, next}
	}
	if fast, ok := driver.As[driver.CreateLister](s.Session); ok {
		next = tappedCreateLister{s, fast, next}
	}
	return next
}

type tappedAny struct {
	s    tappedSession
	fast driver.AnyWaiter
	next any
}

func (f tappedAny) Unwrap() any { return f.next }

func (f tappedAny) WaitAny(ctx context.Context, nodes []driver.Node) (int, error) {
	c := f.s.of("WaitAny", nodes...)
	return through(ctx, f.s.tap, c, func(ctx context.Context) (_ int, err error) {
		c.gone, err = f.fast.WaitAny(ctx, nodes)
		return c.gone, err
	})
}

type tappedNames struct {
	s    tappedSession
	fast driver.NameLister
	next any
}

func (f tappedNames) Unwrap() any { return f.next }

func (f tappedNames) ListNames(ctx context.Context, dir string, last uint64) ([]driver.Node, error) {
	return through(ctx, f.s.tap, f.s.of("ListNames"), func(ctx context.Context) ([]driver.Node, error) {
		return f.fast.ListNames(ctx, dir, last)
	})
}

// made is a node with the list of its directory.
type made struct {
	node driver.Node
	line []driver.Node
}

type tappedCreateLister struct {
	s    tappedSession
	fast driver.CreateLister
	next any
}

func (f tappedCreateLister) Unwrap() any { return f.next }

func (f tappedCreateLister) CreateList(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
	m, err := through(ctx, f.s.tap, f.s.of("CreateList"), func(ctx context.Context) (m made, err error) {
		m.node, m.line, err = f.fast.CreateList(ctx, dir, id, data)
		return m, err
	})
	return m.node, m.line, err
}
