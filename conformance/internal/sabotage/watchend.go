package sabotage

import (
	"context"
	"errors"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

func watchEndSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "ends-without-an-error", Breaks: "V4",
			Doc:   "The sequence just ends: whoever observes believes that all is well. (etcd's Observe closes its channel for every reason.)",
			Apply: badEnd(func(*loop, error, []driver.Node, yielding) {}),
		},
		{
			Name: "watch-waits-for-the-link", Breaks: "V4",
			Doc: "On a frozen link a watch does not see that its ctx has ended.",
			Apply: badEnd(func(w *loop, err error, _ []driver.Node, yield yielding) {
				if ctxEnded(err) && w.conn.broken.Load() {
					rest(w.conn.ctx.Done(), 400*time.Millisecond)
				}
				yield(nil, err)
			}),
		},
		{
			Name: "watch-drops-the-cause", Breaks: "V4",
			Doc: "The ctx's error does not show in the watch's.",
			Apply: badEnd(func(w *loop, err error, _ []driver.Node, yield yielding) {
				if ctxEnded(err) {
					err = &driver.Error{Op: "watch", Key: w.dir, Kind: driver.ErrUncertain, Err: errors.New("watch closed")}
				}
				yield(nil, err)
			}),
		},
		{
			Name: "watch-deaf-to-close", Breaks: "V4",
			Doc: "Conn.Close does not end a watch.",
			Apply: badEnd(func(w *loop, err error, _ []driver.Node, yield yielding) {
				if errors.Is(err, driver.ErrClosed) {
					<-w.ctx.Done()
					err = w.ctx.Err()
				}
				yield(nil, err)
			}),
		},
		{
			Name: "closed-says-canceled", Breaks: "V4",
			Doc: "Close cancels a ctx of the driver's own, whose error is passed on: the observer believes that it has itself given up.",
			Apply: badEnd(func(_ *loop, err error, _ []driver.Node, yield yielding) {
				if errors.Is(err, driver.ErrClosed) {
					err = context.Canceled
				}
				yield(nil, err)
			}),
		},
		{
			Name: "nodes-with-the-error", Breaks: "V4",
			Doc: "The error comes with the last state, which may be long out of date.",
			Apply: badEnd(func(_ *loop, err error, last []driver.Node, yield yielding) {
				yield(append([]driver.Node{}, last...), err)
			}),
		},
		{
			Name: "goes-on-after-the-error", Breaks: "V4",
			Doc: "After its error the sequence goes on.",
			Apply: badEnd(func(_ *loop, err error, last []driver.Node, yield yielding) {
				if yield(nil, err) {
					yield(last, nil)
				}
			}),
		},
		{
			Name: "busy-consumer-overtaken", Breaks: "V4",
			Doc: "A ctx that ended while the consumer was busy is looked at with the next event.",
			Apply: eachLoop(func(w *loop, yield yielding) {
				for nodes, err := range w.sound {
					alive := w.ctx.Err() == nil
					if !yield(nodes, err) {
						return
					}
					if alive && w.ctx.Err() != nil {
						rest(w.conn.ctx.Done(), 2*time.Second)
					}
				}
			}),
		},
	}
}
