package etcd

import (
	"context"
	"iter"

	"github.com/coordkit/coordkit/coord/driver"
)

// Watch implements driver.Watcher. Each range over the sequence is one watch on
// the server, on the stream that all share, and one read, which is linearizable
// as that of List is.
func (c *conn) Watch(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
	return func(yield func([]driver.Node, error) bool) {
		o := op{name: "watch", key: dir}
		if err := c.observing(ctx, o); err != nil {
			yield(nil, err)
			return
		}
		v := newView(c.keyspace, dir)
		if err := c.feeds.observe(o, v); err != nil {
			yield(nil, err)
			return
		}
		defer c.feeds.unobserve(v)
		for {
			nodes, err := c.next(ctx, o, v)
			if !yield(nodes, err) || err != nil {
				return
			}
		}
	}
}

// observing says why there is nothing to observe any more, or nil. Close is
// looked at when it begins, because the feeds end only when the sessions have
// been ended in the store.
func (c *conn) observing(ctx context.Context, o op) error {
	select {
	case <-c.leaving:
		return failed(o, driver.ErrClosed, nil)
	default:
	}
	if err := driver.ContextError(ctx); err != nil {
		return failed(o, nil, err)
	}
	return nil
}

// next waits for the next state to show.
func (c *conn) next(ctx context.Context, o op, v *view) ([]driver.Node, error) {
	for {
		// Whichever is ready: an end is looked for first, and news that came with
		// it are shown to nobody any more.
		select {
		case <-v.news:
		case <-ctx.Done():
		case <-c.leaving:
		}
		if err := c.observing(ctx, o); err != nil {
			return nil, err
		}
		nodes, revision, fresh, err := c.feeds.take(v)
		switch {
		case err != nil:
			return nil, err
		case fresh:
			return arrange(nodes, revision), nil
		}
	}
}

// observe begins the watch of a view.
func (h *feeds) observe(o op, v *view) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return failed(o, driver.ErrClosed, nil)
	}
	v.ctx, v.cancel = context.WithCancel(h.ctx)
	h.views[v] = struct{}{}
	h.add(v)
	return nil
}

// unobserve ends the watch of a view, also on the server.
func (h *feeds) unobserve(v *view) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v.cancel()
	if h.has(v) {
		h.remove(v)
		h.poke() // to tell the server
	}
}

// take returns what there is to show of a view.
func (h *feeds) take(v *view) (nodes []driver.Node, revision uint64, fresh bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if v.err != nil {
		return nil, 0, false, v.err
	}
	nodes, revision, fresh = v.take()
	return nodes, revision, fresh, nil
}
