package watch

import (
	"context"
	"iter"

	"github.com/coordkit/coordkit/coord/driver"
)

// Watch implements driver.Watcher. Each loop has a Follow of its own.
func (h *Hub) Watch(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
	return func(yield func([]driver.Node, error) bool) {
		if ctx.Err() != nil {
			yield(nil, h.watchError(dir, nil, driver.ContextError(ctx)))
			return
		}
		following, stop := context.WithCancel(h.keeper.Life())
		defer stop()
		lists := make(chan List, 1) // the newest that the consumer has not taken
		var failed error
		done := make(chan struct{})
		started := h.keeper.Go(func() {
			defer close(done)
			failed = h.follow.Heal(following, dir, func(l List) {
				select {
				case old := <-lists:
					if old.At > l.At {
						l = old
					}
				default:
				}
				lists <- l
			})
		})
		if !started {
			yield(nil, h.watchError(dir, driver.ErrClosed, nil))
			return
		}
		defer func() { stop(); <-done }()
		var shown uint64
		for {
			var l List
			news := false
			select { // whichever is ready: what has ended is looked at first
			case l = <-lists:
				news = true
			case <-ctx.Done():
			case <-done: // with the connection, or by what cannot be healed
			}
			switch {
			case ctx.Err() != nil:
				yield(nil, h.watchError(dir, nil, driver.ContextError(ctx)))
				return
			case h.keeper.Life().Err() != nil:
				yield(nil, h.watchError(dir, driver.ErrClosed, nil))
				return
			case !news:
				yield(nil, failed)
				return
			case l.At < shown:
				continue
			}
			shown = l.At
			if !yield(l.Nodes, nil) {
				return
			}
		}
	}
}

func (h *Hub) watchError(dir string, kind, err error) error {
	return &driver.Error{Op: "watch", Store: h.store, Key: dir, Kind: kind, Err: err}
}
