package soak

import (
	"context"
	"errors"
	"fmt"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/rwlock"
)

func rwlockRecipe() Recipe {
	the := func(c *coord.Client) *rwlock.RWLock { return rwlock.New(c, lineName) }
	read := func(h *rwlock.ReadHeld, err error) (Hold, error) {
		if err != nil {
			return nil, err
		}
		return readHold{h}, nil
	}
	written := func(h *rwlock.WriteHeld, err error) (Hold, error) {
		if err != nil {
			return nil, err
		}
		return writeHold{h}, nil
	}
	writing := Want{
		Kind: history.Exclusive,
		Acquire: func(ctx context.Context, c *coord.Client, _ *history.Op) (Hold, error) {
			return written(the(c).Lock(ctx))
		},
		Try: func(ctx context.Context, c *coord.Client, _ *history.Op) (Hold, error) {
			return written(the(c).TryLock(ctx))
		},
		Use: func(ctx context.Context, hold Hold, _ *history.Op) (Hold, error) {
			inner, err := the(hold.Session().Client()).RLock(hold.Context())
			if err != nil {
				return nil, fmt.Errorf("reading while writing: %w", err)
			}
			return nil, inner.Unlock(ctx)
		},
	}
	downgrading := writing
	downgrading.Use = downgrade
	return Recipe{
		Name: "rwlock",
		Dir:  lineDir("rwlock", lineName),
		Wants: []Want{writing, downgrading, {
			Kind: history.Shared,
			Acquire: func(ctx context.Context, c *coord.Client, _ *history.Op) (Hold, error) {
				return read(the(c).RLock(ctx))
			},
			Try: func(ctx context.Context, c *coord.Client, _ *history.Op) (Hold, error) {
				return read(the(c).TryRLock(ctx))
			},
			Use: func(ctx context.Context, hold Hold, _ *history.Op) (Hold, error) {
				l := the(hold.Session().Client())
				if _, err := l.Lock(hold.Context()); !errors.Is(err, rwlock.ErrUpgrade) {
					return nil, fmt.Errorf("writing while reading: %w; want %w", err, rwlock.ErrUpgrade)
				}
				inner, err := l.RLock(hold.Context())
				if err != nil {
					return nil, fmt.Errorf("reading again: %w", err)
				}
				return nil, inner.Unlock(ctx)
			},
		}},
		Contenders: func(ctx context.Context, c *coord.Client) (coord.Contenders, error) { return the(c).Contenders(ctx) },
	}
}

// downgrade makes a reader of a writer.
func downgrade(ctx context.Context, hold Hold, op *history.Op) (Hold, error) {
	op.Downgrading()
	reader, err := hold.(writeHold).Downgrade(ctx)
	if err != nil {
		op.NotDowngraded(err)
		return nil, ignoreTransient(err)
	}
	op.Downgraded(reader)
	return readHold{reader}, nil
}

type readHold struct{ *rwlock.ReadHeld }

func (h readHold) Release(ctx context.Context) error { return h.Unlock(ctx) }

type writeHold struct{ *rwlock.WriteHeld }

func (h writeHold) Release(ctx context.Context) error { return h.Unlock(ctx) }
