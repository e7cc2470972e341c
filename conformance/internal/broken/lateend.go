package broken

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
)

// lateEnd is a hold that ends some time after its session was lost or closed. If releasesFirst, it
// ends when its release has returned, and otherwise as soon as that begins.
type lateEnd struct {
	subject.Hold
	ctx           context.Context
	end           context.CancelCauseFunc
	releasesFirst bool
	releasing     atomic.Bool
}

// lateEndKey finds the hold that a context is of.
type lateEndKey struct{}

// newLateEnd makes a hold that ends late if it ends for a reason.
func newLateEnd(sound subject.Hold, reason error, late time.Duration, releasesFirst bool) subject.Hold {
	h := &lateEnd{Hold: sound, releasesFirst: releasesFirst}
	h.ctx, h.end = context.WithCancelCause(context.WithValue(context.WithoutCancel(sound.Context()), lateEndKey{}, h))
	context.AfterFunc(sound.Context(), func() {
		err := sound.Err()
		if releasesFirst && h.releasing.Load() {
			return
		}
		if errors.Is(err, reason) {
			time.Sleep(late)
		}
		h.end(err)
	})
	return h
}

func (h *lateEnd) Context() context.Context { return h.ctx }
func (h *lateEnd) Done() <-chan struct{}    { return h.ctx.Done() }
func (h *lateEnd) Err() error               { return context.Cause(h.ctx) }

func (h *lateEnd) Release(ctx context.Context) error {
	h.releasing.Store(true)
	if ctx.Value(lateEndKey{}) == h { // it ends in the middle of this
		own := context.WithoutCancel(ctx)
		if due, any := ctx.Deadline(); any {
			var cancel context.CancelFunc
			own, cancel = context.WithDeadline(own, due)
			defer cancel()
		}
		ctx = own
	}
	err := h.Hold.Release(ctx)
	h.end(h.Hold.Err())
	return err
}
