package mutex_test

import (
	"context"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/recipetest"
	"github.com/coordkit/coordkit/recipes/mutex"
)

const (
	line = "mutex:m"
	ttl  = recipetest.TTL
)

// world is one in which clients contend for a mutex.
type world struct{ *recipetest.World }

func bubble(t *testing.T, test func(w *world)) {
	t.Helper()
	recipetest.Bubble(t, line, func(w *recipetest.World) { test(&world{w}) })
}

func bubbleOver(t *testing.T, plain bool, test func(w *world)) {
	t.Helper()
	recipetest.BubbleOver(t, line, plain, func(w *recipetest.World) { test(&world{w}) })
}

type client struct {
	*recipetest.Process
	w *world
}

func (w *world) client() *client { return &client{w.Process(), w} }

func (c *client) mutex(opts ...coord.RecipeOption) *mutex.Mutex {
	return mutex.New(c.Client, "m", opts...)
}

func (c *client) lock() *mutex.Held {
	c.w.Helper()
	held, err := c.mutex().Lock(c.w.Ctx)
	c.w.OK(err)
	return held
}

type attempt = recipetest.Attempt[*mutex.Held]

var blocked = recipetest.Blocked[*mutex.Held]

// locking starts a Lock and returns when it is done or blocked.
func (c *client) locking(ctx context.Context) *attempt {
	return recipetest.Begin(c.w.World, func(a *attempt) { a.Held, a.Err = c.mutex().Lock(ctx) })
}

func (w *world) unlock(h *mutex.Held) {
	w.Helper()
	w.OK(h.Unlock(w.Ctx))
}
