package broken

import (
	"context"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// wakeMistakes are about the clients that a release wakes.
func wakeMistakes() []mistake {
	return []mistake{
		{
			name: "waits-for-all-ahead", breaks: wakePromise,
			doc: "A waiter is told of every deletion ahead of it.",
			spoil: acquiring(func(c *coord.Client, name string, acquire acquire) acquire {
				return func(ctx context.Context) (subject.Hold, error) {
					waiting, stop := context.WithCancel(ctx)
					defer stop()
					go waitsForAll(waiting, c, name)
					return acquire(ctx)
				}
			}),
		},
	}
}

// waitsForAll waits for each entry in the lines of a name.
func waitsForAll(ctx context.Context, c *coord.Client, name string) {
	s, err := c.Session(ctx)
	if err != nil {
		return
	}
	for _, kind := range []string{"mutex", "rwlock", "semaphore", "election"} {
		dir, _ := coord.Dir(kind, name) // which is valid, or nothing is acquired
		nodes, _ := s.Driver().List(ctx, dir)
		for _, n := range nodes {
			go func() { _ = s.Driver().WaitDelete(ctx, n) }()
		}
	}
}
