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
				return nil, inner.Unlock(ctx)
			},
		}},
		Contenders: func(ctx context.Context, c *coord.Client) (coord.Contenders, error) { return the(c).Contenders(ctx) },
	}
}

type mutexHold struct{ *mutex.Held }

func (h mutexHold) Release(ctx context.Context) error { return h.Unlock(ctx) }
