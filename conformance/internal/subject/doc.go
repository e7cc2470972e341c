// Package subject is what the rules of the recipes see of a recipe: what can be
// done with it, as functions, so that the same rules run on a recipe that is
// broken on purpose.
package subject

import (
	"context"

	"github.com/coordkit/coordkit/coord"
)

// Hold is what every recipe gives who acquires.
type Hold interface {
	Context() context.Context
	Done() <-chan struct{}
	Err() error
	Token() uint64
	Session() *coord.Session

	// Release is what the recipe calls Unlock or Release.
	Release(ctx context.Context) error
	Revoked(ctx context.Context) (coord.Revocation, error)
}

// Func is what Do runs.
type Func = func(ctx context.Context, token uint64) error

// Want is a way to want what a recipe gives. Its functions are the recipe's
// methods, and may be called concurrently.
type Want struct {
	Acquire    func(ctx context.Context) (Hold, error)
	Try        func(ctx context.Context) (Hold, error)
	Do         func(ctx context.Context, fn Func) error
	Contenders func(ctx context.Context) (coord.Contenders, error)
	Revoke     func(ctx context.Context, token uint64, reason string) error

	// On is the same by a recipe that was made with coord.WithSession(s). It is nil where
	// the recipe was made with options.
	On func(s *coord.Session) Want
}

// unlocker is a hold of a lock.
type unlocker interface {
	Context() context.Context
	Done() <-chan struct{}
	Err() error
	Token() uint64
	Session() *coord.Session
	Unlock(ctx context.Context) error
	Revoked(ctx context.Context) (coord.Revocation, error)
}

// unlocked is a hold of a lock, as a Hold.
type unlocked struct{ unlocker }

func (h unlocked) Release(ctx context.Context) error { return h.Unlock(ctx) }

// locks makes a method of a lock one of a Want.
func locks[H unlocker](acquire func(context.Context) (H, error)) func(context.Context) (Hold, error) {
	return func(ctx context.Context) (Hold, error) {
		h, err := acquire(ctx)
		if err != nil {
			return nil, err
		}
		return unlocked{h}, nil
	}
}
