package sabotage

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

func watchLeftSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "left-loop-goes-on", Breaks: "V5",
			Doc: "A loop that was left keeps its watch until the connection is closed.",
			Apply: eachLoop(func(w *loop, yield yielding) {
				f := w.feed(context.WithoutCancel(w.ctx))
				if f.loop(w.ctx, yield) {
					f.stop()
				}
			}),
		},
		{
			Name: "panicked-loop-goes-on", Breaks: "V5",
			Doc: "A loop that a panic has left keeps its watch until the connection is closed: nothing is deferred.",
			Apply: eachLoop(func(w *loop, yield yielding) {
				f := w.feed(w.ctx)
				f.loop(w.ctx, yield)
				f.stop()
			}),
		},
		{
			Name: "canceled-watch-goes-on", Breaks: "V5",
			Doc: "A watch whose ctx has ended keeps its place in the store until the connection is closed. (Consul's queries; CURATOR-107.)",
			Apply: eachLoop(func(w *loop, yield yielding) {
				f := w.feed(context.WithoutCancel(w.ctx))
				if !f.loop(w.ctx, yield) {
					f.stop()
				}
			}),
		},
		{
			Name: "left-behind-a-frozen-link", Breaks: "V5",
			Doc: "The store is told once that a watch is over, and on a broken link not at all.",
			Apply: eachLoop(func(w *loop, yield yielding) {
				f := w.feed(context.WithoutCancel(w.ctx))
				f.loop(w.ctx, yield)
				if !w.conn.broken.Load() {
					f.stop()
				}
			}),
		},
		{
			Name: "watched-again-at-each-reset", Breaks: "V5",
			Doc:   "After a reset a watch is begun again at the store, and the one before is not forgotten.",
			Apply: atEachReset(func(ctx context.Context, w *loop) { w.feed(ctx) }),
		},
		{
			Name: "goroutine-of-each-reset", Breaks: "V5",
			Doc: "Each reset leaves a goroutine behind each watch.",
			Apply: atEachReset(func(_ context.Context, w *loop) {
				go func() { <-w.conn.ctx.Done() }() // in truth it ends with the case
			}),
		},
		{
			Name: "watchman-left", Breaks: "V5",
			Doc: "A goroutine of each watch stays until the connection is closed.",
			Apply: eachConn(func(c *conn) {
				closed := make(chan struct{})
				var once sync.Once
				c.close = func() error {
					once.Do(func() { close(closed) })
					return c.Conn.Close()
				}
				c.loops(func(w *loop, yield yielding) {
					go func() { <-closed }()
					w.sound(yield)
				})
			}),
		},
		{
			Name: "watch-outlives-the-connection", Breaks: "V5",
			Doc: "A goroutine of each watch under way outlives Close.",
			Apply: badEnd(func(w *loop, err error, _ []driver.Node, yield yielding) {
				if errors.Is(err, driver.ErrClosed) {
					go func() { <-w.conn.ctx.Done() }() // in truth it ends with the case
				}
				yield(nil, err)
			}),
		},
		{
			Name: "watches-when-called", Breaks: "V5",
			Doc: "Watch begins before anybody ranges over what it returns, and who never does leaves it.",
			Apply: eachConn(func(c *conn) {
				c.watch = func(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
					w := &loop{c, ctx, dir, nil}
					f := w.feed(ctx)
					return func(yield func([]driver.Node, error) bool) {
						f.loop(ctx, yield)
						f.stop()
					}
				}
			}),
		},
		{
			Name: "watching-makes-the-directory", Breaks: "V5",
			Doc: "A watch makes what it does not find, in order to watch it. (kazoo's ChildrenWatch and Curator's caches.)",
			Apply: unknownDirs(func(w *loop, yield yielding) {
				if s, err := w.conn.Conn.OpenSession(w.ctx, time.Hour); err == nil {
					_, _ = s.Create(w.ctx, "made:"+w.dir, "0", nil)
				}
				w.sound(yield)
			}),
		},
	}
}

// feed is a watch on a goroutine of its own.
type feed struct {
	events chan event
	stop   context.CancelFunc
}

type event struct {
	nodes []driver.Node
	err   error
}

// feed begins one, which ends when it is stopped, or with ctx or the connection.
func (w *loop) feed(ctx context.Context) *feed {
	ctx, cancel := context.WithCancel(ctx)
	f := &feed{events: make(chan event), stop: cancel}
	go func() { // ends with ctx, or with the connection
		defer cancel()
		gone := false
		for nodes, err := range w.conn.soundWatch(ctx, w.dir) {
			if gone {
				continue
			}
			select { // nobody cares for what comes after the end
			case f.events <- event{nodes, err}:
			case <-ctx.Done():
			case <-w.ctx.Done():
				gone = true
			}
		}
	}()
	return f
}

// loop gives the body what comes, and reports whether it ended otherwise than by
// being left.
func (f *feed) loop(ctx context.Context, yield yielding) (whole bool) {
	for {
		select { // if both are ready, either may be first
		case e := <-f.events:
			if !yield(e.nodes, e.err) {
				return false
			}
			if e.err != nil {
				return true
			}
		case <-ctx.Done():
			yield(nil, &driver.Error{Op: "watch", Kind: driver.ErrUncertain, Err: ctx.Err()})
			return true
		}
	}
}

// atEachReset makes the Apply of a sabotage that does something whenever the link resets
// the connection of a watch. ctx ends with the watch.
func atEachReset(do func(ctx context.Context, w *loop)) func(conformance.Harness) conformance.Harness {
	return eachLoop(func(w *loop, yield yielding) {
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		go func() {
			for {
				select { // whichever comes first
				case <-w.conn.resets.next():
					do(ctx, w)
				case <-ctx.Done():
					return
				}
			}
		}()
		w.sound(yield)
	})
}
