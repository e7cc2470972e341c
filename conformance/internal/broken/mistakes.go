package broken

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// mistakes are those that any recipe can be made with.
func mistakes() []mistake {
	return slices.Concat(releaseMistakes(), commonMistakes(), troubleMistakes(), endMistakes(), revocationMistakes(), sessionMistakes(), withinMistakes(), backoffMistakes(), wakeMistakes())
}

func commonMistakes() []mistake {
	return []mistake{
		{
			name: "no-cleanup-after-panic", breaks: doPromise,
			doc: "Do does not release when its function panics.",
			spoil: func(_ *coord.Client, _ string, w subject.Want) subject.Want {
				acquire := w.Acquire
				w.Do = func(ctx context.Context, fn subject.Func) error {
					h, err := acquire(ctx)
					if err != nil {
						return err
					}
					err = fn(h.Context(), h.Token())
					return errors.Join(err, h.Release(ctx))
				}
				return w
			},
		},
		{
			name: "no-cleanup-after-goexit", breaks: doPromise,
			doc: "Do does not release when its function ends the goroutine. (FailNow of a test does.)",
			spoil: func(_ *coord.Client, _ string, w subject.Want) subject.Want {
				acquire := w.Acquire
				w.Do = func(ctx context.Context, fn subject.Func) (err error) {
					h, err := acquire(ctx)
					if err != nil {
						return err
					}
					returned := false
					defer func() {
						thrown := recover()
						if thrown != nil || returned {
							err = errors.Join(err, h.Release(ctx))
						}
						if thrown != nil {
							panic(thrown)
						}
					}()
					err = fn(h.Context(), h.Token())
					returned = true
					return err
				}
				return w
			},
		},
		{
			name: "loss-swallowed", breaks: doPromise,
			doc: "Do returns what its function returned, also when that was not protected to the end.",
			spoil: func(_ *coord.Client, _ string, w subject.Want) subject.Want {
				do := w.Do
				w.Do = func(ctx context.Context, fn subject.Func) (err error) {
					_ = do(ctx, func(ctx context.Context, token uint64) error {
						err = fn(ctx, token)
						return err
					})
					return err
				}
				return w
			},
		},
		{
			name: "never-told", breaks: lossBeforeHandoffPromise,
			doc: "A holder does not learn that it has lost what it holds. (Curator, kazoo.)",
			spoil: holding(func(h subject.Hold) subject.Hold {
				return untold{h}
			}),
		},
		{
			name: "local-tokens", breaks: promise{mutex: "M8", rwlock: "R3", semaphore: "P3", election: "K1"},
			doc: "The fencing token is a counter of the process.",
			spoil: func(c *coord.Client, _ string, w subject.Want) subject.Want {
				return holding(func(h subject.Hold) subject.Hold {
					n := h.Session().Local(tokenKey{}, func() any { return new(atomic.Uint64) }).(*atomic.Uint64)
					return tokened{h, n.Add(1)}
				})(c, "", w)
			},
		},
		{
			name: "stale-reentry", breaks: promise{mutex: "M12", rwlock: "R8", semaphore: "P5"},
			doc:   "Under a hold's context an acquire succeeds without a look at whether it is lost. (Curator's InterProcessMutex.)",
			spoil: reentersAnything,
		},
		{
			name: "try-stays-in-line", breaks: promise{rwlock: "R4", semaphore: "P4", election: "K2"},
			doc: "A try that fails leaves its contender in the line. (kazoo #732.)",
			spoil: func(c *coord.Client, _ string, w subject.Want) subject.Want {
				acquire, try := w.Acquire, w.Try
				w.Try = func(ctx context.Context) (subject.Hold, error) {
					h, err := try(ctx)
					if errors.Is(err, coord.ErrBusy) {
						once := c.Local(tryKey{}, func() any { return new(sync.Once) }).(*sync.Once) // which is bad enough
						once.Do(func() {
							go func() { _, _ = acquire(context.WithoutCancel(ctx)) }() // until the client is closed
						})
					}
					return h, err
				}
				return w
			},
		},
		{
			name: "try-does-not-wait-for-the-store", breaks: promise{rwlock: "R4", semaphore: "P4", election: "K2"},
			doc: "A try that takes its time says that it is busy, and takes its entry back in the background.",
			spoil: func(_ *coord.Client, _ string, w subject.Want) subject.Want {
				try := w.Try
				w.Try = func(ctx context.Context) (subject.Hold, error) {
					got := make(chan result, 1)
					go func() { // ends with the try
						h, err := try(ctx)
						got <- result{h, err}
					}()
					late := time.NewTimer(50 * time.Millisecond)
					defer late.Stop()
					select { // whichever comes first
					case r := <-got:
						return r.hold, r.err
					case <-late.C:
						return nil, coord.ErrBusy
					}
				}
				return w
			},
		},
		{
			name: "given-up-stays-in-line", breaks: promise{mutex: "M9", rwlock: "R15", semaphore: "P17", election: "K11"},
			doc: "The place of who gives up stays in the line. (CURATOR-205.)",
			spoil: func(_ *coord.Client, _ string, w subject.Want) subject.Want {
				acquire := w.Acquire
				w.Acquire = func(ctx context.Context) (subject.Hold, error) {
					got := make(chan result, 1)
					go func() {
						h, err := acquire(context.WithoutCancel(ctx)) // until the client is closed
						got <- result{h, err}
					}()
					select {
					case r := <-got:
						return r.hold, r.err
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}
				return w
			},
		},
		{
			name: "lost-wakeup", breaks: promise{mutex: "M20", rwlock: "R20", semaphore: "P22", election: "K15"},
			doc:   "A waiter that was cut off for a moment is not woken any more. (kazoo PR #170, CURATOR-495.)",
			spoil: losesWakeups,
		},
		{
			name: "late", breaks: promise{mutex: "M15", rwlock: "R16", semaphore: "P18", election: "K16"},
			doc: "A call whose ctx has ended returns when it is convenient. (Curator, kazoo.)",
			spoil: func(_ *coord.Client, _ string, w subject.Want) subject.Want {
				acquire, try, contenders := w.Acquire, w.Try, w.Contenders
				w.Acquire = func(ctx context.Context) (subject.Hold, error) { return late(ctx)(acquire(ctx)) }
				w.Try = func(ctx context.Context) (subject.Hold, error) { return late(ctx)(try(ctx)) }
				w.Contenders = func(ctx context.Context) (coord.Contenders, error) {
					c, err := contenders(ctx)
					_, _ = late(ctx)(nil, err)
					return c, err
				}
				return w
			},
		},
	}
}
