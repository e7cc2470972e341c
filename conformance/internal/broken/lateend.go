package broken

import (
	"context"
	"errors"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// lateEnd is a hold that ends some time after it was lost. If releasesFirst, it ends
// when its release has returned, and otherwise before.
type lateEnd struct {
	subject.Hold
	ctx           context.Context
	end           context.CancelCauseFunc
	releasesFirst bool
}

func newLateEnd(h subject.Hold, late time.Duration, releasesFirst bool) subject.Hold {
	ctx, end := context.WithCancelCause(context.WithoutCancel(h.Context()))
	context.AfterFunc(h.Context(), func() {
		if err := h.Err(); !errors.Is(err, coord.ErrReleased) {
			time.Sleep(late)
			end(err)
		}
	})
	return &lateEnd{h, ctx, end, releasesFirst}
}

func (h *lateEnd) Context() context.Context { return h.ctx }
func (h *lateEnd) Done() <-chan struct{}    { return h.ctx.Done() }
func (h *lateEnd) Err() error               { return context.Cause(h.ctx) }

func (h *lateEnd) Release(ctx context.Context) error {
	if h.releasesFirst {
		err := h.Hold.Release(ctx)
		h.end(h.Hold.Err())
		return err
	}
	h.end(errors.Join(coord.ErrNotHeld, coord.ErrReleased))
	if ctx.Err() != nil && context.Cause(ctx) == context.Cause(h.ctx) { // it is the hold's own
		own := context.WithoutCancel(ctx)
		if due, any := ctx.Deadline(); any {
			var cancel context.CancelFunc
			own, cancel = context.WithDeadline(own, due)
			defer cancel()
		}
		ctx = own
	}
	return h.Hold.Release(ctx)
}
