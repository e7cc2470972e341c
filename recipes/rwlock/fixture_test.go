package rwlock_test

import (
	"context"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/bynames"
	"github.com/coordkit/coordkit/internal/recipetest"
	"github.com/coordkit/coordkit/recipes/rwlock"
)

const (
	dir = "rwlock:l"
	ttl = recipetest.TTL
)

// world is one in which clients contend for a lock.
type world struct {
	*recipetest.World
	lists *bynames.Lists // of clients whose lists are names; nil: they are not
}

// bubble runs test over a driver with every optional interface, over one that has
// none, and over one whose lists are names.
func bubble(t *testing.T, test func(w *world)) {
	t.Helper()
	recipetest.Bubble(t, dir, func(w *recipetest.World) { test(&world{World: w}) })
	t.Run("by names", func(t *testing.T) { bubbleByNames(t, test) })
}

// bubbleByNames is bubble over a driver whose lists are names only.
func bubbleByNames(t *testing.T, test func(w *world)) {
	t.Helper()
	recipetest.BubbleOver(t, dir, false, func(w *recipetest.World) { test(&world{w, &bynames.Lists{}}) })
}

// bubbleFast is bubble over a driver with every optional interface only.
func bubbleFast(t *testing.T, test func(w *world)) {
	t.Helper()
	recipetest.BubbleOver(t, dir, false, func(w *recipetest.World) { test(&world{World: w}) })
}

type client struct {
	*recipetest.Process
	w *world
}

func (w *world) client() *client {
	if w.lists != nil {
		return &client{w.ProcessOver(w.lists.Over), w}
	}
	return &client{w.Process(), w}
}

// counted is a client whose requests are counted.
func (w *world) counted(n *recipetest.Counter) *client { return &client{w.Counted(n), w} }

func (c *client) locker(opts ...coord.RecipeOption) *rwlock.RWLock {
	return rwlock.New(c.Client, "l", opts...)
}

func (c *client) lock() *rwlock.WriteHeld {
	c.w.Helper()
	h, err := c.locker().Lock(c.w.Ctx)
	c.w.OK(err)
	return h
}

func (c *client) rlock() *rwlock.ReadHeld {
	c.w.Helper()
	h, err := c.locker().RLock(c.w.Ctx)
	c.w.OK(err)
	return h
}

// held is what ReadHeld and WriteHeld have in common.
type held interface {
	recipetest.Hold
	Unlock(context.Context) error
	Revoked(context.Context) (coord.Revocation, error)
}

// either makes a held of a reader's or writer's, and of nil none.
func either[H interface {
	comparable
	held
}](h H, err error) (held, error) {
	var none H
	if h == none {
		return nil, err
	}
	return h, err
}

type attempt = recipetest.Attempt[held]

var blocked = recipetest.Blocked[held]

func (w *world) attempt(call func(*attempt)) *attempt { return recipetest.Begin(w.World, call) }

// reading starts an RLock and returns when it is done or blocked.
func (c *client) reading(ctx context.Context) *attempt {
	return c.w.attempt(func(a *attempt) { a.Held, a.Err = either(c.locker().RLock(ctx)) })
}

// writing starts a Lock and returns when it is done or blocked.
func (c *client) writing(ctx context.Context) *attempt {
	return c.w.attempt(func(a *attempt) { a.Held, a.Err = either(c.locker().Lock(ctx)) })
}

func (w *world) unlock(held ...held) {
	w.Helper()
	for _, h := range held {
		w.OK(h.Unlock(w.Ctx))
	}
}

func (w *world) downgrade(h held) *rwlock.ReadHeld {
	w.Helper()
	r, err := h.(*rwlock.WriteHeld).Downgrade(w.Ctx)
	w.OK(err)
	return r
}
