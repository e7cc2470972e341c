package conformance

import (
	"context"
	"fmt"
	"slices"

	"github.com/coordkit/coordkit/coord/driver"
)

// leavesNothingWithCtx makes all calls under the ctx of a program. What a call has derived
// from it, or wants to hear of its end, must be gone when the call has returned: otherwise
// each lock takes memory that is never freed.
func leavesNothingWithCtx(t *Trial) {
	c, ctx := t.Open(), newLasting(t.ctx)
	s, err := c.OpenSession(ctx, t.h.TTL)
	if err != nil {
		t.NotVerified("OpenSession: %v", err)
	}
	goes := t.Create(s, other, "0")
	calls := slices.DeleteFunc(t.methods(c, s), func(m method) bool { return m.name == "WaitDelete" || m.name == "WaitAny" })
	calls = append(calls, method{"WaitDelete", func(ctx context.Context) error { return s.WaitDelete(ctx, goes) }})
	if f, ok := driver.As[driver.AnyWaiter](s); ok {
		calls = append(calls, method{"WaitAny", func(ctx context.Context) error {
			_, err := f.WaitAny(ctx, []driver.Node{goes})
			return err
		}})
	}
	if w, ok := driver.As[driver.Watcher](c); ok {
		calls = append(calls, method{"Watch", func(ctx context.Context) error {
			for _, err := range w.Watch(ctx, dir) {
				return err
			}
			return nil
		}})
	}
	calls = append(calls, method{"Session.Close", s.Close})
	t.Delete(s, goes)
	for _, m := range calls {
		if err := m.call(ctx); err != nil {
			t.NotVerified("%s: %v", m.name, err)
		}
		t.Eventually(t.patience(), func() error {
			if n := ctx.left(); n > 0 {
				return fmt.Errorf("%s has returned, and %d contexts or functions still wait for the end of its ctx", m.name, n)
			}
			return nil
		})
	}
}

// leavesNothingWhenRefused makes calls that fail, since nobody can be reached. The way out of a
// call by an error is another one.
func leavesNothingWhenRefused(t *Trial) {
	c, l := t.OpenLink()
	ctx := newLasting(t.ctx)
	ms := without(t.methods(c, t.SessionOn(c)), "WaitDelete", "WaitAny", "ListNames") // waits heal themselves
	l.Cut()
	for _, m := range ms {
		over := t.Go(func() { _ = m.call(ctx) }) // E2
		if !t.within(longestAttempt, over) {
			t.leaveTo("E3", m.name+" does not return when connections are refused")
		}
		t.Eventually(t.patience(), func() error {
			if n := ctx.left(); n > 0 {
				return fmt.Errorf("%s has returned, with connections refused, and %d contexts or functions still wait for the end of its ctx", m.name, n)
			}
			return nil
		})
	}
}
