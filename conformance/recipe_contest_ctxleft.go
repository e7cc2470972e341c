package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/coordkit/coordkit/coord"
)

// contestLeavesNothingWithCtx makes all calls under the ctx of a program, which ends with it.
// What a call leaves with that ctx is memory that is never freed.
func contestLeavesNothingWithCtx(d duel) {
	a, b, ctx := d.Client(), d.Client(), newLasting(d.ctx)
	free := func(after string) {
		d.Eventually(d.patience(), func() error {
			if n := ctx.left(); n > 0 {
				return fmt.Errorf("after %s %d contexts or functions wait for the end of its ctx", after, n)
			}
			return nil
		})
	}
	first := d.wins(d.bid(ctx, "an acquire where nobody is in the way", d.one(a)))
	free("an acquire")
	if _, err := d.other(b).Try(ctx); !errors.Is(err, coord.ErrBusy) {
		d.Fatalf("a try of what is held returned %s; want ErrBusy", errorOf(err))
	}
	if _, err := d.other(b).Contenders(ctx); err != nil {
		d.Fatalf("listing: %v", err)
	}
	free("a try, and a look at the line")
	next := d.join(ctx, "the next in line", d.other(b), 2)
	if err := first.Release(ctx); err != nil {
		d.Fatalf("releasing: %v", err)
	}
	second := d.wins(next)
	free("a release, and an acquire that had to wait")
	asking := d.ask(ctx, d.one(a), second.Token(), "maintenance")
	d.hears(d.listen(ctx, second), "", "maintenance")
	d.release(second)
	d.letGo(asking)
	free("a revocation")
	if err := d.one(a).Do(ctx, func(context.Context, uint64) error { return nil }); err != nil {
		d.Fatalf("Do: %v", err)
	}
	free("Do")
	d.empty()
}
