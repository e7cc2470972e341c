package election_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/recipetest"
	"github.com/coordkit/coordkit/recipes/election"
)

const (
	line = "election:e"
	ttl  = recipetest.TTL
)

// world is one in which clients stand for election.
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

// counted is a client whose requests are counted.
func (w *world) counted(n *recipetest.Counter) *client { return &client{w.Counted(n), w} }

func (c *client) election(opts ...coord.RecipeOption) *election.Election {
	return election.New(c.Client, "e", opts...)
}

// elect campaigns where nobody is in the way.
func (c *client) elect(value string) *election.Leadership {
	c.w.Helper()
	return c.campaigning(c.w.Ctx, value).Granted()
}

type attempt = recipetest.Attempt[*election.Leadership]

var blocked = recipetest.Blocked[*election.Leadership]

// campaigning starts a Campaign and returns when it is done or blocked.
func (c *client) campaigning(ctx context.Context, value string) *attempt {
	return recipetest.Begin(c.w.World, func(a *attempt) { a.Held, a.Err = c.election().Campaign(ctx, []byte(value)) })
}

func (w *world) resign(l *election.Leadership) {
	w.Helper()
	w.OK(l.Resign(w.Ctx))
}

func (w *world) proclaim(l *election.Leadership, value string) {
	w.Helper()
	w.OK(l.Proclaim(w.Ctx, []byte(value)))
}

// leader wants a third client to be shown a leader with this value.
func (w *world) leader(value string) coord.Contender {
	w.Helper()
	synctest.Wait()
	c, err := w.client().election().Leader(w.Ctx)
	if err != nil || string(c.Value) != value {
		w.Fatalf("the leader shows as %q, %v; want %q", c.Value, err, value)
	}
	return c
}

// vacant wants a third client to be shown no leader.
func (w *world) vacant() {
	w.Helper()
	synctest.Wait()
	_, err := w.client().election().Leader(w.Ctx)
	w.Is(err, election.ErrNoLeader)
}

// lost wants a leadership to have ended for the reason why.
func (w *world) lost(l *election.Leadership, why error) {
	w.Helper()
	w.Lost(l, why)
	w.Is(l.Proclaim(w.Ctx, nil), coord.ErrNotHeld, why)
}
