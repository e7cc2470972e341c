package semaphore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/bynames"
	"github.com/coordkit/coordkit/internal/recipetest"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

const (
	dir = "semaphore:s"
	ttl = recipetest.TTL
)

// world is one in which clients want permits of a semaphore.
type world struct {
	*recipetest.World
	lists *bynames.Lists // of clients whose lists are names; nil: they are not
}

// bubble runs test over a driver with every optional interface, over one that has
// none, and over one whose lists are names.
func bubble(t *testing.T, test func(w *world)) {
	t.Helper()
	recipetest.Bubble(t, dir, func(w *recipetest.World) {
		if w.Plain { // the first to be served follows the line without a watch
			w.Lag = 1300 * time.Millisecond
		}
		test(&world{World: w})
	})
	t.Run("by names", func(t *testing.T) { bubbleByNames(t, test) })
}

// bubbleFast is bubble over a driver with every optional interface only.
func bubbleFast(t *testing.T, test func(w *world)) {
	t.Helper()
	recipetest.BubbleOver(t, dir, false, func(w *recipetest.World) { test(&world{World: w}) })
}

// bubbleByNames is bubble over a driver whose lists are names only.
func bubbleByNames(t *testing.T, test func(w *world)) {
	t.Helper()
	recipetest.BubbleOver(t, dir, false, func(w *recipetest.World) { test(&world{w, &bynames.Lists{}}) })
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

// semaphore is a value of its own, as another program has.
func (c *client) semaphore(permits int) *semaphore.Semaphore {
	return semaphore.New(c.Client, "s", permits)
}

// acquire gets n of the given number of permits, and must.
func (c *client) acquire(n, of int) *semaphore.Held {
	c.w.Helper()
	h, err := c.semaphore(of).Acquire(c.w.Ctx, n)
	c.w.OK(err)
	return h
}

type attempt = recipetest.Attempt[*semaphore.Held]

var blocked = recipetest.Blocked[*semaphore.Held]

func (w *world) attempt(call func(*attempt)) *attempt { return recipetest.Begin(w.World, call) }

// acquiring starts an Acquire of n of the given number of permits and returns
// when it is done or blocked.
func (c *client) acquiring(ctx context.Context, n, of int) *attempt {
	s := c.semaphore(of)
	return c.w.attempt(func(a *attempt) { a.Held, a.Err = s.Acquire(ctx, n) })
}

func (w *world) release(held ...*semaphore.Held) {
	w.Helper()
	for _, h := range held {
		w.OK(h.Release(w.Ctx))
	}
}

// entries wants n entries in the line, gates and notices not counted.
func (w *world) entries(n int) []driver.Node {
	w.Helper()
	w.Settle()
	nodes := w.of("p")
	if len(nodes) != n {
		w.Fatalf("%d entries in the line; want %d", len(nodes), n)
	}
	return nodes
}

// of returns the nodes in the line whose ids begin with a kind.
func (w *world) of(kind string) (nodes []driver.Node) {
	w.Helper()
	for _, n := range w.Line() {
		if strings.HasPrefix(n.ID, kind) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// uses wants a limit in force and a number of permits in use, as anybody sees
// them.
func (w *world) uses(c *client, limit, used int) {
	w.Helper()
	w.Settle()
	if l, u, err := c.semaphore(1).Limit(w.Ctx); err != nil || l != limit || u != used {
		w.Fatalf("%d of %d permits are in use, %v; want %d of %d", u, l, err, used, limit)
	}
}
