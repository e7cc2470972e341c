package zk

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
)

// Watch implements driver.Watcher. It runs on the goroutine of its consumer, and
// uses the link that a list would use: a session's, or the one for lists.
func (c *conn) Watch(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
	return func(yield func([]driver.Node, error) bool) {
		v := view{conn: c, dir: dir, memory: newDirectory(driver.MaxData)}
		defer v.leave()
		for {
			nodes, err := v.next(ctx)
			if !yield(nodes, err) || err != nil {
				return
			}
		}
	}
}

// view is a directory as one observer sees it change.
//
// It never sees an older state after a newer one (V2). On one link it is
// ZooKeeper that sees to that, as it lets no session back to what it has seen
// the end of, on whatever server. On the next link it begins with a transaction,
// as a list does. And it remembers nodes by itself: others of this program may
// know of newer data than its own server has.
type view struct {
	conn   *conn
	dir    string
	memory *directory

	link   *link // by which it looks; nil before the first
	eye    *eye
	agreed bool // the link's server is not behind what was shown before

	begun bool
	shown []driver.Node
}

// next returns the next state that differs from the one before.
func (v *view) next(ctx context.Context) ([]driver.Node, error) {
	o := op{name: "watch", key: v.dir, limit: mostAttempt}
	for {
		err := v.await(ctx, o)
		var nodes []driver.Node
		if err == nil {
			nodes, err = v.look(ctx, o)
		}
		switch {
		case err == nil:
			if v.begun && slices.EqualFunc(nodes, v.shown, alike) {
				continue
			}
			v.begun, v.shown = true, nodes
			return nodes, nil
		case v.conn.life.Err() != nil:
			return nil, failed(o, driver.ErrClosed, nil)
		case ctx.Err() != nil:
			return nil, failed(o, nil, driver.ContextError(ctx))
		case errors.Is(err, driver.ErrDenied):
			return nil, denied(o, err)
		case v.link != nil && v.link.ended() != nil: // its session is over, which is no concern of a view
		case driver.Transient(err):
			sleep(ctx, leastPause)
			v.eye.open()
		default:
			return nil, err
		}
	}
}

func alike(a, b driver.Node) bool { return a.Same(b) && bytes.Equal(a.Data, b.Data) }

// await returns when there may be something to see, by a link that can be used.
func (v *view) await(ctx context.Context, o op) error {
	if v.link != nil {
		again := time.NewTimer(v.conn.relook)
		defer again.Stop()
		// If more than one is ready, any will do: what follows finds out about
		// the others.
		select {
		case <-v.eye.news:
		case <-again.C:
			v.agreed = false
		case <-v.link.over:
		case <-v.conn.life.Done():
		case <-ctx.Done():
			return driver.ContextError(ctx)
		}
		if why := v.link.ended(); why == nil || errors.Is(why, driver.ErrDenied) {
			return why
		}
	}
	l, err := v.conn.anyLink(o)
	if err != nil {
		return err
	}
	v.leave()
	v.link, v.eye, v.agreed = l, l.sights.join(v.conn.dir(v.dir)), false
	return nil
}

func (v *view) leave() {
	if v.link != nil {
		v.link.sights.leave(v.conn.dir(v.dir), v.eye)
	}
}

// look reads the directory and has its link watch it: a change that what was
// read does not show opens the eye.
func (v *view) look(ctx context.Context, o op) ([]driver.Node, error) {
	if !v.agreed {
		w := v.link.current()
		if err := agree(ctx, v.link, o); err != nil {
			if driver.Transient(err) && ctx.Err() == nil {
				w.drop("it does not agree with the others") // the next may
			}
			return nil, err
		}
		v.agreed = true
	}
	path := v.conn.dir(v.dir)
	for {
		g, err := call(ctx, v.link, o, func(lib *gozk.Conn) (glance, error) { return glanceAt(lib, path) })
		switch {
		case err != nil:
			return nil, err
		case g.absent:
			return nil, nil
		case g.whole:
			v.memory.follow(stampOf(g.listing.stat), string(g.content.data))
			nodes, err := v.conn.nodes(ctx, v.link, o, v.dir, v.memory, g.listing, nil)
			if err == errMoved {
				continue
			}
			return nodes, err
		}
	}
}

// glance is a directory as two requests saw it, each of which sets a watch: for
// the data, which tell of updates, and for the names.
type glance struct {
	content content
	listing listing
	whole   bool // both saw the same, so that there is a watch for whatever comes next
	absent  bool // there is no directory, and a watch for its creation
}

func glanceAt(lib *gozk.Conn, path string) (g glance, err error) {
	listed := make(chan listing, 1)
	go func() { listed <- children(lib, path) }() // in one round trip, and in any order
	g.content = get(lib, path)
	g.listing = <-listed
	for _, err := range []error{g.content.err, g.listing.err} {
		if err != nil && !errors.Is(err, gozk.ErrNoNode) {
			return g, err
		}
	}
	switch {
	case g.content.err == nil && g.listing.err == nil:
		g.whole = stampOf(g.content.stat) == stampOf(g.listing.stat)
	case g.content.err != nil && g.listing.err != nil:
		// Neither has set a watch, as there is nothing to.
		exists, _, err := lib.Exists(path)
		if err != nil {
			return g, err
		}
		g.absent = !exists
	}
	return g, nil
}
