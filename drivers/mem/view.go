package mem

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// Watch shows a directory as it changes, as driver.Watcher says. Each range over
// the sequence is a watch of its own.
//
// It lists, and lists again when the store tells of a change: one request at a
// time, so a state that a slow link delivers late is never shown after a later
// one, and what changes between two requests is shown as one.
func (c *Conn) Watch(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
	return func(yield func([]driver.Node, error) bool) {
		v := &view{conn: c, dir: dir}
		defer v.drop()
		for {
			line, err := v.next(ctx)
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}

// view is a directory as one watch shows it.
type view struct {
	conn  *Conn
	dir   string
	set   *observer // that is set at the store, or nil
	shown bool
	last  []driver.Node // what was shown last
}

// next returns the next state to show.
func (v *view) next(ctx context.Context) ([]driver.Node, error) {
	for {
		if err := v.over(ctx); err != nil {
			return nil, err
		}
		line, ok := v.look(ctx)
		// After a break of the link nothing may have changed.
		if ok && v.over(ctx) == nil && !(v.shown && slices.EqualFunc(line, v.last, unchanged)) {
			v.shown, v.last = true, line
			return line, nil
		}
	}
}

// over says why the watch has ended, or nil.
func (v *view) over(ctx context.Context) error {
	select {
	case <-v.conn.closed:
		return closedError(OpWatch, v.dir)
	default:
	}
	if err := driver.ContextError(ctx); err != nil {
		return &driver.Error{Op: string(OpWatch), Store: scheme, Key: v.dir, Err: err}
	}
	return nil
}

// look waits for news of the line that was got last, if there is one, and gets
// the line anew. It reports false if it could not, and should be called again
// unless the watch is over.
func (v *view) look(ctx context.Context) (line []driver.Node, ok bool) {
	// No limit: there is no other server to ask, and what gets lost in silence
	// is told by the reset that follows it.
	c := call{OpWatch, v.dir, 0, v.conn.closed}
	if v.set != nil {
		v.news(ctx, c)
		v.drop()
		if v.over(ctx) != nil {
			return nil, false
		}
	}
	turned := *v.conn.link.turned.Load() // before it is asked, so that no break of it is missed
	o := newObserver(v.conn, v.dir)
	line, err := ask(ctx, v.conn.link, c, o, (*Store).observe)
	if err == nil {
		v.set = o
		return line, true
	}
	v.conn.store.unobserve(o) // the request may be on its way
	timer := time.NewTimer(pause)
	defer timer.Stop()
	// Whichever is ready, the loop above looks at all of them.
	select {
	case <-turned:
	case <-timer.C:
	case <-ctx.Done():
	case <-v.conn.closed:
	}
	return nil, false
}

// news returns when the link has brought the news of a change, or has lost it,
// or it does not matter any more: whichever it is, the line has to be looked at
// again or the watch is over.
func (v *view) news(ctx context.Context, c call) {
	select {
	case <-v.set.fired:
		_ = v.conn.link.deliver(ctx, c)
	case <-ctx.Done():
	case <-v.conn.closed:
	}
}

// drop ends the observer at the store.
func (v *view) drop() {
	if v.set != nil {
		v.conn.store.unobserve(v.set)
		v.set = nil
	}
}

// unchanged reports whether a node is the same and was not updated: the store gives no
// number twice.
func unchanged(a, b driver.Node) bool { return a.Version == b.Version }
