package broken

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// withinMistakes are about a hold within a hold.
func withinMistakes() []mistake {
	return []mistake{
		{
			name: "removal-untold-within", breaks: promise{mutex: "M13", rwlock: "R18"},
			doc:   "When an entry is removed its first hold ends, and the hold of a later re-entry does not.",
			spoil: reentered(func(h subject.Hold) subject.Hold { return newUnremoved(h) }),
		},
		{
			name: "inner-release-counts-down", breaks: promise{mutex: "M13", rwlock: "R18"},
			doc:   "The release of an inner hold counts down and returns nil, also if the entry was removed.",
			spoil: reentered(func(h subject.Hold) subject.Hold { return counted{h} }),
		},
	}
}

// reentered makes a mistake with every hold that was acquired under the context of another one
// of the same entry.
func reentered(spoil func(subject.Hold) subject.Hold) func(*coord.Client, string, subject.Want) subject.Want {
	return func(c *coord.Client, name string, w subject.Want) subject.Want {
		key := enteredKey(name)
		again := func(acquire acquire) acquire {
			return func(ctx context.Context) (subject.Hold, error) {
				h, err := acquire(ctx)
				if err != nil {
					return nil, err
				}
				if outer, ok := ctx.Value(key).(entered); ok && outer.Token() == h.Token() {
					h = spoil(h)
				}
				return entered{h, key}, nil
			}
		}
		w.Acquire, w.Try = again(w.Acquire), again(w.Try)
		return w
	}
}

// counted is a hold whose release does not say that it was lost.
type counted struct{ subject.Hold }

func (h counted) Release(ctx context.Context) error {
	if err := h.Hold.Release(ctx); !errors.Is(err, coord.ErrNotHeld) {
		return err
	}
	return nil
}

// backoffMistakes are about pauses that do not begin anew.
func backoffMistakes() []mistake {
	return []mistake{
		{
			name: "backoff-never-reset", breaks: pacePromise,
			doc: "The pauses between attempts grow with each failure, and a success does not make them short again.",
			spoil: acquiring(func(c *coord.Client, _ string, acquire acquire) acquire {
				return func(ctx context.Context) (subject.Hold, error) {
					for looksOnce(ctx, c) != nil && ctx.Err() == nil {
						pauseLonger(ctx, c)
					}
					return acquire(ctx)
				}
			}),
		},
	}
}

// backoffKey finds a client's last pause.
type backoffKey struct{}

// pauseLonger pauses for twice as long as before, up to a second.
func pauseLonger(ctx context.Context, c *coord.Client) {
	last := c.Local(backoffKey{}, func() any { return new(atomic.Int64) }).(*atomic.Int64)
	pause := min(max(2*time.Duration(last.Load()), 10*time.Millisecond), time.Second)
	last.Store(int64(pause))
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select { // whichever comes first
	case <-timer.C:
	case <-ctx.Done():
	}
}
