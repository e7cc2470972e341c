package soak

import (
	"context"
	"strings"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

// The permits of the semaphore, and how many of them are wanted at a time.
const permits = 5

var requests = []int{1, 2, permits}

func semaphoreRecipe() Recipe {
	return semaphoreOf("semaphore", lineName, permits, func(c *coord.Client) *semaphore.Semaphore {
		return semaphore.New(c, lineName, permits)
	}, requests, nil)
}

// The limits of a semaphore whose limit changes. Which of them is in force at a
// time nobody can tell for sure, since a change is gone for a while with the
// session of who keeps it. So the highest is what must not be exceeded, and
// nobody wants more than the lowest.
var (
	limits = []int{3, 4, 6}
	few    = []int{1, 3}
)

func resizedRecipe() Recipe {
	const name = lineName + " resized"
	type key struct{}
	the := func(c *coord.Client) *semaphore.Semaphore { // which ends the change before
		return c.Local(key{}, func() any { return semaphore.New(c, name, limits[0]) }).(*semaphore.Semaphore)
	}
	r := semaphoreOf("semaphore, resized", name, limits[len(limits)-1], the, few,
		func(ctx context.Context, hold Hold, op *history.Op) (Hold, error) {
			if hold.Token()%8 != 0 { // now and then
				return nil, nil
			}
			limit := limits[hold.Token()/8%uint64(len(limits))]
			op.Note("sets the limit of %s to %d", name, limit)
			return nil, ignoreTransient(the(hold.Session().Client()).SetLimit(ctx, limit))
		})
	// The notice of a change stays as long as the client, or until the next.
	r.Stays = func(n driver.Node) bool { return strings.HasPrefix(n.ID, "l") }
	return r
}

func semaphoreOf(title, name string, limit int, the func(*coord.Client) *semaphore.Semaphore, sizes []int,
	use func(context.Context, Hold, *history.Op) (Hold, error)) Recipe {
	held := func(h *semaphore.Held, err error) (Hold, error) {
		if err != nil {
			return nil, err
		}
		return h, nil
	}
	r := Recipe{
		Name: title, Dir: lineDir("semaphore", name), Limit: limit,
		Contenders: func(ctx context.Context, c *coord.Client) (coord.Contenders, error) { return the(c).Contenders(ctx) },
	}
	for _, n := range sizes {
		r.Wants = append(r.Wants, Want{
			Kind:    history.Permits,
			Permits: n,
			Acquire: func(ctx context.Context, c *coord.Client, _ *history.Op) (Hold, error) {
				return held(the(c).Acquire(ctx, n))
			},
			Try: func(ctx context.Context, c *coord.Client, _ *history.Op) (Hold, error) {
				return held(the(c).TryAcquire(ctx, n))
			},
			Use: use,
		})
	}
	return r
}
