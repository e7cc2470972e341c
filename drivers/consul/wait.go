package consul

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// onlyOne is for how long a wait for several nodes is for one of them.
const onlyOne = time.Second

// WaitDelete implements driver.Session.
func (s *session) WaitDelete(ctx context.Context, n driver.Node) error {
	_, err := s.WaitAny(ctx, []driver.Node{n})
	return err
}

// WaitAny implements driver.AnyWaiter. For a second it waits for the node that is likely to
// be the last before one's own. Most waits end by then, with one query. Then it waits for
// all of them.
func (s *session) WaitAny(ctx context.Context, nodes []driver.Node) (gone int, err error) {
	o := s.Read("wait", "")
	o.Limit = 0 // queries have limits of their own
	if len(nodes) == 0 {
		return 0, o.Failed(driver.ErrInvalid, errors.New("no nodes to wait for"))
	}
	nodes = slices.Clone(nodes)
	o.Key = nodes[0].Key
	likely := 0
	for i, n := range nodes {
		if err := s.check(o, n); err != nil {
			return 0, err
		}
		if n.Dir != nodes[0].Dir {
			return 0, o.Failed(driver.ErrInvalid, fmt.Errorf("the nodes are of several directories, %q and %q", nodes[0].Dir, n.Dir))
		}
		own, best := n.Session == s.ID(), nodes[likely]
		if bestOwn := best.Session == s.ID(); bestOwn && !own || bestOwn == own && n.Token > best.Token {
			likely = i
		}
	}
	err = s.Do(ctx, o, func(ctx context.Context) (err error) {
		if len(nodes) > 1 {
			short, cancel := context.WithTimeout(ctx, onlyOne)
			_, err := s.waitIn(short, s.conn.scopes.enter(nodes[likely], nodes[likely].Session == s.ID()), nodes[likely])
			cancel()
			if err == nil || ctx.Err() != nil || short.Err() == nil {
				gone = likely
				return err
			}
		}
		gone, err = s.waitAll(ctx, nodes)
		return err
	})
	return gone, err
}

// waitAll waits until any of the nodes is gone, by a goroutine for each scope.
func (s *session) waitAll(ctx context.Context, nodes []driver.Node) (gone int, err error) {
	byScope := make(map[string][]int)
	for i, n := range nodes {
		scope := s.conn.scopes.enter(n, n.Session == s.ID())
		byScope[scope] = append(byScope[scope], i)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		gone int
		err  error
	}
	results := make(chan result)
	for scope, indexes := range byScope {
		some := make([]driver.Node, len(indexes))
		for i, index := range indexes {
			some[i] = nodes[index]
		}
		wait := func() {
			i, err := s.waitIn(ctx, scope, some...)
			select {
			case results <- result{indexes[i], err}:
			case <-ctx.Done():
			}
		}
		if !s.conn.sessions.Go(wait) {
			s.conn.scopes.leave(scope, some...)
			return 0, context.Canceled // the session's end says why
		}
	}
	select {
	case r := <-results:
		return r.gone, r.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// waitIn waits in a scope that was entered for the nodes, and leaves it.
func (s *session) waitIn(ctx context.Context, scope string, nodes ...driver.Node) (int, error) {
	defer s.conn.scopes.leave(scope, nodes...)
	in := slices.Clone(nodes)
	for i := range in {
		in[i].Dir, in[i].Version = scope, max(in[i].Version, in[i].Token)
		s.conn.saw(in[i].Version)
	}
	return s.conn.waits.Wait(ctx, in...)
}
