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
			name: "trouble-is-final", mutex: "M10", rwlock: "R17", semaphore: "P19", election: "K11",
			doc: "Who looks at the line before it joins takes a request that was lost for the answer.",
			spoil: acquiring(func(c *coord.Client, _ string, acquire acquire) acquire {
				return func(ctx context.Context) (subject.Hold, error) {
					s, err := c.Session(ctx)
					if err != nil {
						return nil, err
					}
					if _, err := s.Driver().List(ctx, "any"); err != nil && driver.Transient(err) {
						return nil, err
					}
					return acquire(ctx)
				}
			}),
		},
		{
			name: "refused-tries-on", mutex: "M10", rwlock: "R17", semaphore: "P19", election: "K11",
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
			name: "abandons-late", mutex: "M10", rwlock: "R17", semaphore: "P19", election: "K11",
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

type acquire = func(context.Context) (subject.Hold, error)

// acquiring makes a mistake with every acquire that may wait.
func acquiring(spoil func(c *coord.Client, name string, acquire acquire) acquire) func(*coord.Client, string, subject.Want) subject.Want {
	return func(c *coord.Client, name string, w subject.Want) subject.Want {
		w.Acquire = spoil(c, name, w.Acquire)
		return w
	}
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
