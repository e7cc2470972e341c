package broken

import (
	"context"
	"errors"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// endMistakes are about what ends, other than by being given up.
func endMistakes() []mistake {
	return []mistake{
		{
			name: "removal-untold", breaks: removalPromise,
			doc:   "A holder whose entry is removed is not told.",
			spoil: holding(func(h subject.Hold) subject.Hold { return newUnremoved(h) }),
		},
		{
			name: "loss-starts-over", breaks: promise{mutex: "M17", rwlock: "R22", semaphore: "P24", election: "K14"},
			doc: "A waiter that has lost its session joins the line again by itself, at its end.",
			spoil: func(_ *coord.Client, _ string, w subject.Want) subject.Want {
				acquire := w.Acquire
				w.Acquire = func(ctx context.Context) (subject.Hold, error) {
					h, err := acquire(ctx)
					if errors.Is(err, coord.ErrSessionLost) {
						return acquire(ctx)
					}
					return h, err
				}
				return w
			},
		},
		{
			name: "closed-says-canceled", breaks: promise{mutex: "M18", rwlock: "R22", semaphore: "P24", election: "K17"},
			doc: "Who waits when the client is closed is told that its ctx has ended.",
			spoil: func(_ *coord.Client, _ string, w subject.Want) subject.Want {
				acquire := w.Acquire
				w.Acquire = func(ctx context.Context) (subject.Hold, error) {
					h, err := acquire(ctx)
					if errors.Is(err, coord.ErrClosed) {
						err = context.Canceled
					}
					return h, err
				}
				return w
			},
		},
		{
			name: "told-after-close", breaks: lossBeforeHandoffPromise,
			doc: "A holder whose session is closed is told when the store has ended it.",
			spoil: holding(func(h subject.Hold) subject.Hold {
				return newLateEnd(h, coord.ErrClosed, 10*time.Millisecond, false)
			}),
		},
		{
			name: "goroutine-left", breaks: promise{mutex: "M22", rwlock: "R23", semaphore: "P25", election: "K22"},
			doc: "Each hold leaves a goroutine. (CURATOR-107, -654; kazoo PR #490.)",
			spoil: holding(func(h subject.Hold) subject.Hold {
				go time.Sleep(time.Minute) // which is long enough to be seen
				return h
			}),
		},
		{
			name: "ctx-left", breaks: promise{mutex: "M22", rwlock: "R23", semaphore: "P25", election: "K22"},
			doc: "Each acquire derives a context from its ctx, and never cancels it. (A program's ctx keeps it until the program ends.)",
			spoil: acquiring(func(_ *coord.Client, _ string, acquire acquire) acquire {
				return func(ctx context.Context) (subject.Hold, error) {
					context.AfterFunc(ctx, func() {})
					return acquire(ctx)
				}
			}),
		},
	}
}

// unremoved is a hold that does not end when its entry is removed.
type unremoved struct {
	subject.Hold
	ctx context.Context
}

func newUnremoved(h subject.Hold) subject.Hold {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(h.Context()))
	context.AfterFunc(h.Context(), func() {
		if err := h.Err(); !errors.Is(err, coord.ErrRemoved) {
			cancel(err)
		}
	})
	return unremoved{h, ctx}
}

func (h unremoved) Context() context.Context { return h.ctx }
func (h unremoved) Done() <-chan struct{}    { return h.ctx.Done() }
func (h unremoved) Err() error               { return context.Cause(h.ctx) }
