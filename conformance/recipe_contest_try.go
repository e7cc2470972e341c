package conformance

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// trying is about tries.
func (cs contests) trying() []Case {
	return cs.cases("another joins after its look at the line", 0, contestTryIsLate)
}

// contestTryIsLate lets another client join between a try's look at the line and its entry. The
// try does not return ErrBusy before its entry is gone, or the next look would find the entry.
func contestTryIsLate(d duel) {
	var first subject.Hold
	var looked atomic.Bool
	freed, free := context.WithCancel(d.ctx)
	defer free()
	third := d.Client()
	c := d.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		if c.op == "Delete" {
			select { // whichever is first
			case <-freed.Done():
			case <-ctx.Done():
			}
		}
		err := next(ctx)
		if c.op == "Conn.List" && !looked.Swap(true) {
			first = d.take(d.one(third))
		}
		return err
	})
	b := &bid{what: "a try"}
	b.over = d.Go(func() { b.hold, b.err = d.other(c).Try(d.ctx) })
	d.Throughout(d.lateness(), func() error {
		if ended(b.over) {
			return errors.New("a try has returned " + result(b.hold, b.err) + " while its entry is still in the line")
		}
		return nil
	})
	free()
	d.Trial.join("a try", b.over)
	if !errors.Is(b.err, coord.ErrBusy) {
		d.Fatalf("a try that another client was faster than returned %s; want ErrBusy", result(b.hold, b.err))
	}
	d.release(first)
	d.empty()
}
