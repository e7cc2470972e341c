package consul

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// Watch implements driver.Watcher. The first state is read as List reads it;
// the others are answers to a blocking query of the directory, which all who
// watch it share. There are no more than three such queries: further
// directories share one of the whole namespace, so that the connections stay
// few however many directories are watched. After each answer the query rests,
// for 2 ms and 10 microseconds for each key of the answer, or up to 100 ms
// when answers bring no news; what changes meanwhile is shown as one.
//
// Consul does not tell of a directory that was deleted by "consul kv delete
// -recurse" of a shorter prefix, if a node was deleted in it in the quarter of an
// hour before. That is seen when the query lapses, after 7 seconds.
func (c *conn) Watch(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
	return func(yield func([]driver.Node, error) bool) {
		o := op{name: "watch", key: dir, limit: c.timing.attempt, life: c.using}
		began := c.watches.now()
		nodes, err := c.look(ctx, o)
		if err != nil {
			yield(nil, err)
			return
		}
		v := &view{op: o, last: nodes, news: make(chan []driver.Node, 1), failed: make(chan error, 1)}
		behind, err := c.watches.show(v, began)
		if err != nil {
			yield(nil, err)
			return
		}
		defer c.watches.hide(v)
		if behind {
			again, err := c.look(ctx, o)
			if err != nil {
				yield(nil, err)
				return
			}
			nodes = c.watches.renew(v, again)
		}
		for yield(nodes, nil) {
			if nodes, err = v.next(ctx); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// look lists a directory, as soon as the store can be reached.
func (c *conn) look(ctx context.Context, o op) ([]driver.Node, error) {
	for wait := pause; ; wait = min(2*wait, longestPause) {
		kvs, err := c.list(ctx, o, c.dir(o.key))
		if err == nil {
			return c.nodes(o.key, kvs), nil
		}
		if over := o.over(ctx); over != nil {
			return nil, over
		}
		if !driver.Transient(err) {
			return nil, err
		}
		timer := time.NewTimer(wait)
		// If one has ended the next attempt fails at once.
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-o.life.Done():
		}
		timer.Stop()
	}
}

// over says why a watch is to end, or returns nil.
func (o op) over(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return failed(o, nil, driver.ContextError(ctx))
	case o.life.Err() != nil:
		return failed(o, driver.ErrClosed, nil)
	default:
		return nil
	}
}

// view is one Watch.
type view struct {
	op
	last   []driver.Node      // the newest state; watches guards it, as the next three
	since  uint64             // when it was read last, see watches.clock
	shown  bool               // the scan has shown it a state
	scan   *scan              // what it is shown by
	news   chan []driver.Node // holds the newest state if it was not taken yet
	failed chan error         // has room for the one error
}

// next returns the next state.
func (v *view) next(ctx context.Context) ([]driver.Node, error) {
	// The end goes before news, which a busy directory always has. If it comes
	// while the view waits, either is true and the next call finds out.
	if err := v.over(ctx); err != nil {
		return nil, err
	}
	select {
	case nodes := <-v.news:
		return nodes, nil
	case err := <-v.failed:
		return nil, err
	case <-ctx.Done():
	case <-v.life.Done():
	}
	return nil, v.over(ctx)
}

// see takes a state that is not older than the last, and reports whether it is
// another. What the consumer has not taken is replaced.
func (v *view) see(nodes []driver.Node) (changed bool) {
	if slices.EqualFunc(nodes, v.last, func(n, m driver.Node) bool { return n.Same(m) && n.Version == m.Version }) {
		return false
	}
	v.last = nodes
	select {
	case <-v.news:
	default:
	}
	v.news <- nodes // has room, for only this puts something in
	return true
}
