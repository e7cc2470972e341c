package broken

import (
	"context"
	"errors"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// revoke asks the holder with a token to let go.
type revoke func(ctx context.Context, token uint64, reason string) error

// revoking makes the spoil of a mistake in how others are asked to let go.
func revoking(spoil func(c *coord.Client, w subject.Want, revoke revoke) revoke) func(*coord.Client, string, subject.Want) subject.Want {
	return func(c *coord.Client, _ string, w subject.Want) subject.Want {
		w.Revoke = spoil(c, w, w.Revoke)
		return w
	}
}

// revocationMistakes are about those who ask somebody to let go.
func revocationMistakes() []mistake {
	return []mistake{
		{
			name: "asked-when-it-was-heard", breaks: revocationPromise,
			doc:   "A request to let go is said to have been made when it was heard.",
			spoil: holding(func(h subject.Hold) subject.Hold { return undated{h} }),
		},
		{
			name: "deaf", breaks: revocationPromise,
			doc:   "A holder that is asked to let go does not hear of it.",
			spoil: holding(func(h subject.Hold) subject.Hold { return deaf{h} }),
		},
		{
			name: "anonymous-revocation", breaks: revocationPromise,
			doc:   "A holder that is asked to let go is not told by whom.",
			spoil: holding(func(h subject.Hold) subject.Hold { return anonymous{h} }),
		},
		{
			name: "listens-once", breaks: revocationPromise,
			doc:   "A request that was not there when the listening began is not heard.",
			spoil: holding(func(h subject.Hold) subject.Hold { return impatient{h} }),
		},
		{
			name: "long-reason-unheard", breaks: revocationPromise,
			doc:   "A request with a reason of more than 200 bytes is not heard.",
			spoil: holding(func(h subject.Hold) subject.Hold { return short{h} }),
		},
		{
			name: "one-request-at-a-time", breaks: revocationPromise,
			doc: "A request waits until an earlier one, of another entry, has been met.",
			spoil: revoking(func(c *coord.Client, _ subject.Want, revoke revoke) revoke {
				turn := c.Local(askTurnKey{}, func() any { return make(chan struct{}, 1) }).(chan struct{})
				return func(ctx context.Context, token uint64, reason string) error {
					select { // if both are ready either is right
					case turn <- struct{}{}:
						defer func() { <-turn }()
						return revoke(ctx, token, reason)
					case <-ctx.Done():
						return ctx.Err()
					}
				}
			}),
		},
		{
			name: "listens-for-ever", breaks: revocationPromise,
			doc:   "Listening ends neither with its ctx nor with the hold.",
			spoil: holding(func(h subject.Hold) subject.Hold { return tireless{h} }),
		},
		{
			name: "revoked-is-released", breaks: revocationPromise,
			doc:   "A holder that is asked to let go has let go.",
			spoil: holding(func(h subject.Hold) subject.Hold { return obedient{h} }),
		},
		{
			name: "requests-stay", breaks: revocationPromise,
			doc: "A request is not withdrawn when who made it gives up.",
			spoil: revoking(func(_ *coord.Client, _ subject.Want, revoke revoke) revoke {
				return func(ctx context.Context, token uint64, reason string) error {
					done := make(chan error, 1)
					go func() { done <- revoke(context.WithoutCancel(ctx), token, reason) }() // until the client is closed
					select {
					case err := <-done:
						return err
					case <-ctx.Done():
						return ctx.Err()
					}
				}
			}),
		},
		{
			name: "asking-the-gone-fails", breaks: revocationPromise,
			doc: "To ask somebody who has left is an error.",
			spoil: revoking(func(_ *coord.Client, w subject.Want, revoke revoke) revoke {
				return func(ctx context.Context, token uint64, reason string) error {
					c, err := w.Contenders(ctx)
					for _, who := range append(c.Holders, c.Waiters...) {
						if who.Token == token {
							return revoke(ctx, token, reason)
						}
					}
					return errors.Join(coord.ErrInvalid, err)
				}
			}),
		},
		{
			name: "asks-and-leaves", breaks: revocationPromise,
			doc: "Revoke returns when the request was heard, and not when it was granted.",
			spoil: revoking(func(_ *coord.Client, _ subject.Want, revoke revoke) revoke {
				return func(ctx context.Context, token uint64, reason string) error {
					go func() { _ = revoke(context.WithoutCancel(ctx), token, reason) }() // until the client is closed
					return nil
				}
			}),
		},
	}
}

type deaf struct{ subject.Hold }

func (h deaf) Revoked(ctx context.Context) (coord.Revocation, error) {
	select {
	case <-ctx.Done():
		return coord.Revocation{}, ctx.Err()
	case <-h.Done():
		return coord.Revocation{}, h.Err()
	}
}

type anonymous struct{ subject.Hold }

func (h anonymous) Revoked(ctx context.Context) (coord.Revocation, error) {
	r, err := h.Hold.Revoked(ctx)
	r.By = coord.Owner{}
	return r, err
}

type impatient struct{ subject.Hold }

func (h impatient) Revoked(ctx context.Context) (coord.Revocation, error) {
	look, cancel := context.WithTimeout(ctx, time.Millisecond)
	r, err := h.Hold.Revoked(look)
	cancel()
	if err != nil && ctx.Err() == nil && h.Err() == nil {
		return deaf(h).Revoked(ctx)
	}
	return r, err
}

type short struct{ subject.Hold }

func (h short) Revoked(ctx context.Context) (coord.Revocation, error) {
	r, err := h.Hold.Revoked(ctx)
	if err == nil && len(r.Reason) > 200 {
		return deaf(h).Revoked(ctx)
	}
	return r, err
}

type tireless struct{ subject.Hold }

func (h tireless) Revoked(ctx context.Context) (coord.Revocation, error) {
	r, err := h.Hold.Revoked(ctx)
	if err != nil {
		for range h.Session().Client().Watch(context.Background(), "nothing") { // until the client is closed
		}
	}
	return r, err
}

type obedient struct{ subject.Hold }

func (h obedient) Revoked(ctx context.Context) (coord.Revocation, error) {
	r, err := h.Hold.Revoked(ctx)
	if err == nil {
		_ = h.Release(ctx)
	}
	return r, err
}

// askTurnKey finds a client's turn to ask.
type askTurnKey struct{}

// undated is a hold that does not know when it was asked.
type undated struct{ subject.Hold }

func (h undated) Revoked(ctx context.Context) (coord.Revocation, error) {
	r, err := h.Hold.Revoked(ctx)
	r.Since = time.Now()
	return r, err
}
