package broken

import (
	"context"
	"errors"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// troubleMistakes are about calls of the driver that fail, and what is cleared up after
// them.
func troubleMistakes() []mistake {
	return []mistake{
		{
			name: "trouble-is-final", breaks: lostRepliesPromise,
			doc: "Who looks at the line before it joins takes a request that was lost for the answer.",
			spoil: acquiring(func(c *coord.Client, _ string, acquire acquire) acquire {
				return func(ctx context.Context) (subject.Hold, error) {
					if err := looksOnce(ctx, c); err != nil {
						return nil, err
					}
					return acquire(ctx)
				}
			}),
		},
		{
			name: "revoke-trouble-is-final", breaks: revocationPromise,
			doc: "Revoke takes a lost request for the holder's answer.",
			spoil: revoking(func(c *coord.Client, _ subject.Want, revoke revoke) revoke {
				return func(ctx context.Context, token uint64, reason string) error {
					if err := looksOnce(ctx, c); err != nil {
						return err
					}
					return revoke(ctx, token, reason)
				}
			}),
		},
		{
			name: "revoke-hides-its-loss", breaks: revocationPromise,
			doc: "Who asks another to let go, and loses its session, is told that its ctx has ended.",
			spoil: revoking(func(_ *coord.Client, _ subject.Want, revoke revoke) revoke {
				return func(ctx context.Context, token uint64, reason string) error {
					err := revoke(ctx, token, reason)
					if errors.Is(err, coord.ErrSessionLost) {
						return context.Canceled
					}
					return err
				}
			}),
		},
		{
			name: "revoke-removed-is-answered", breaks: revocationPromise,
			doc: "A request to let go that is removed counts as answered.",
			spoil: revoking(func(_ *coord.Client, _ subject.Want, revoke revoke) revoke {
				return func(ctx context.Context, token uint64, reason string) error {
					err := revoke(ctx, token, reason)
					if errors.Is(err, coord.ErrRemoved) {
						return nil
					}
					return err
				}
			}),
		},
		{
			name: "releases-without-a-pause", breaks: pacePromise,
			doc:   "Who cannot reach the store to let go tries again at once.",
			spoil: holding(func(h subject.Hold) subject.Hold { return restless{h} }),
		},
		{
			name: "creates-without-a-pause", breaks: pacePromise,
			doc: "Who has no time left and does not know whether it has an entry makes it again at once.",
			spoil: acquiring(func(c *coord.Client, _ string, acquire acquire) acquire {
				return func(ctx context.Context) (subject.Hold, error) {
					h, err := acquire(ctx)
					if errors.Is(err, context.DeadlineExceeded) {
						createsOnce(context.WithoutCancel(ctx), c)
					}
					return h, err
				}
			}),
		},
		{
			name: "clears-up-late", breaks: removalPromise,
			doc: "A release that was given up clears up later whatever the same program has in line by then.",
			spoil: func(c *coord.Client, name string, w subject.Want) subject.Want {
				return holding(func(h subject.Hold) subject.Hold { return clearing{h, name} })(c, name, w)
			},
		},
		{
			name: "refused-stays-in-line", breaks: lostRepliesPromise,
			doc: "What the store refuses to delete is not deleted later.",
			spoil: acquiring(func(c *coord.Client, _ string, acquire acquire) acquire {
				return func(ctx context.Context) (subject.Hold, error) {
					h, err := acquire(ctx)
					if errors.Is(err, context.Canceled) && deniesDeletions(context.WithoutCancel(ctx), c) {
						go func() { _, _ = acquire(context.WithoutCancel(ctx)) }() // until the client is closed
					}
					return h, err
				}
			}),
		},
		{
			name: "refused-tries-on", breaks: lostRepliesPromise,
			doc: "Who is refused by the store says so, and tries again behind its caller's back.",
			spoil: acquiring(func(_ *coord.Client, _ string, acquire acquire) acquire {
				return func(ctx context.Context) (subject.Hold, error) {
					h, err := acquire(ctx)
					if errors.Is(err, coord.ErrDenied) {
						go func() { _, _ = acquire(context.WithoutCancel(ctx)) }() // until the client is closed
					}
					return h, err
				}
			}),
		},
		{
			name: "uncertain-tries-on", breaks: lostRepliesPromise,
			doc: "An acquire whose outcome is not known fails, and goes on in the background.",
			spoil: acquiring(func(_ *coord.Client, _ string, acquire acquire) acquire {
				return func(ctx context.Context) (subject.Hold, error) {
					h, err := acquire(ctx)
					if errors.Is(err, coord.ErrUncertain) && ctx.Err() == nil {
						go func() {
							for err := err; driver.Transient(err); { // until the store is back, or the client closed
								_, err = acquire(context.WithoutCancel(ctx))
							}
						}()
					}
					return h, err
				}
			}),
		},
		{
			name: "abandons-late", breaks: lostRepliesPromise,
			doc: "Who was given up while the store was away clears up when it is back, whatever the same program has in line by then.",
			spoil: acquiring(func(c *coord.Client, name string, acquire acquire) acquire {
				return func(ctx context.Context) (subject.Hold, error) {
					h, err := acquire(ctx)
					if ctx.Err() != nil && !reaches(context.WithoutCancel(ctx), c) {
						go abandonsAll(c, name)
					}
					return h, err
				}
			}),
		},
	}
}

// atOnce is a pause that is none, so that virtual time goes on.
const atOnce = 100 * time.Microsecond

// looksOnce makes a call of the driver that has no other purpose, and returns what went
// wrong with it.
func looksOnce(ctx context.Context, c *coord.Client) error {
	s, err := c.Session(ctx)
	if err != nil {
		return err
	}
	if _, err = s.Driver().List(ctx, "any"); driver.Transient(err) {
		return err
	}
	return nil
}

// createsOnce makes an entry that nobody wants, and gives up soon.
func createsOnce(ctx context.Context, c *coord.Client) {
	ctx, cancel := context.WithTimeout(ctx, 200*atOnce)
	defer cancel()
	s, err := c.Session(ctx)
	if err != nil {
		return
	}
	n, err := s.Driver().Create(ctx, "any", "0", nil)
	for errors.Is(err, coord.ErrUncertain) && ctx.Err() == nil {
		time.Sleep(atOnce)
		n, err = s.Driver().Create(ctx, "any", "0", nil)
	}
	if err == nil {
		_ = s.Driver().Delete(ctx, n)
	}
}

// restless is a hold whose release looks whether the store is there, until it is.
type restless struct{ subject.Hold }

func (h restless) Release(ctx context.Context) error {
	for h.Err() == nil && ctx.Err() == nil {
		if _, err := h.Session().Driver().List(ctx, "any"); !driver.Transient(err) {
			break
		}
		time.Sleep(atOnce)
	}
	return h.Hold.Release(ctx)
}

// clearing is a hold that clears up when its release was given up.
type clearing struct {
	subject.Hold
	name string
}

func (h clearing) Release(ctx context.Context) error {
	err := h.Hold.Release(ctx)
	if ctx.Err() != nil {
		go abandonsAll(h.Session().Client(), h.name)
	}
	return err
}

type acquire = func(context.Context) (subject.Hold, error)

// acquiring makes a mistake with every acquire that may wait.
func acquiring(spoil func(c *coord.Client, name string, acquire acquire) acquire) func(*coord.Client, string, subject.Want) subject.Want {
	return func(c *coord.Client, name string, w subject.Want) subject.Want {
		w.Acquire = spoil(c, name, w.Acquire)
		return w
	}
}

// deniesDeletions reports whether the store refuses to delete what is not there.
func deniesDeletions(ctx context.Context, c *coord.Client) bool {
	s, err := c.Session(ctx)
	return err == nil && errors.Is(s.Driver().Delete(ctx, driver.Node{Dir: "nothing", Key: "nothing", Token: 1}), driver.ErrDenied)
}

// abandonsAll gives up what a client has in the lines of a name, as soon as the store
// answers.
func abandonsAll(c *coord.Client, name string) {
	ctx := context.Background()
	s, err := c.Session(ctx)
	if err != nil {
		return
	}
	for s.Err() == nil && !reaches(ctx, c) {
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(5 * time.Millisecond) // for what the program does next
	for _, kind := range []string{"mutex", "rwlock", "semaphore", "election"} {
		dir, _ := coord.Dir(kind, name) // which is valid, or nothing was acquired
		nodes, _ := c.List(ctx, dir)
		for _, n := range nodes {
			if n.Session == s.ID() {
				_ = s.Driver().Abandon(ctx, dir, n.ID)
			}
		}
	}
}
