package soak

import (
	"context"
	"fmt"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/mutex"
)

func mutexRecipe() Recipe {
	the := func(c *coord.Client) *mutex.Mutex { return mutex.New(c, lineName) }
	locked := func(h *mutex.Held, err error) (Hold, error) {
		if err != nil {
			return nil, err
		}
		return mutexHold{h}, nil
	}
	return Recipe{
		Name: "mutex",
		Dir:  lineDir("mutex", lineName),
		Wants: []Want{{
			Kind: history.Exclusive,
			Acquire: func(ctx context.Context, c *coord.Client, _ *history.Op) (Hold, error) {
				return locked(the(c).Lock(ctx))
			},
			Try: func(ctx context.Context, c *coord.Client, _ *history.Op) (Hold, error) {
				return locked(the(c).TryLock(ctx))
			},
			Use: func(ctx context.Context, hold Hold, _ *history.Op) (Hold, error) {
				inner, err := the(hold.Session().Client()).Lock(hold.Context())
				if err != nil {
					return nil, fmt.Errorf("entering it again: %w", err)
				}
				if inner.Token() != hold.Token() {
					return nil, fmt.Errorf("entering it again gave token %d", inner.Token())
				}
				if err := inner.Unlock(ctx); err != nil {
					return nil, err
				}
				return nil, asked(ctx, the(hold.Session().Client()), hold.(mutexHold))
			},
		}},
		Contenders: func(ctx context.Context, c *coord.Client) (coord.Contenders, error) { return the(c).Contenders(ctx) },
	}
}

type mutexHold struct{ *mutex.Held }

// Release unlocks, now and then while somebody who runs under the hold enters it
// again.
func (h mutexHold) Release(ctx context.Context) error {
	if h.Token()%4 != 0 {
		return h.Unlock(ctx)
	}
	entered := make(chan struct{})
	go func() {
		defer close(entered)
		if inner, err := mutex.New(h.Session().Client(), lineName).Lock(h.Context()); err == nil {
			_ = inner.Unlock(ctx) // if it is not confirmed it goes on in the background
		}
	}()
	err := h.Unlock(ctx)
	<-entered // at once: the context that it enters with has ended
	return err
}

// asked now and then has a holder asked to let go, which it hears if nothing is in
// the way, and does not heed.
func asked(ctx context.Context, m *mutex.Mutex, h mutexHold) error {
	if h.Token()%8 != 0 {
		return nil
	}
	const reason = "a soak"
	asking, withdraw := context.WithCancel(ctx)
	withdrawn := make(chan struct{})
	go func() {
		defer close(withdrawn)
		_ = m.Revoke(asking, h.Token(), reason) // it is withdrawn
	}()
	brief, cancel := context.WithTimeout(ctx, briefly)
	r, err := h.Revoked(brief)
	cancel()
	withdraw()
	<-withdrawn
	if err == nil && r.Reason != reason {
		return fmt.Errorf("it is asked to let go for the reason %q", r.Reason)
	}
	return nil
}
