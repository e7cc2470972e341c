package election_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/recipetest"
	"github.com/coordkit/coordkit/recipes/election"
)

// Under a ctx that has ended nothing is proclaimed.
func TestProclaimUnderAnEndedContext(t *testing.T) {
	conn := mem.NewStore().Open("test")
	client, err := coord.New(conn, coord.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(context.Background())
	e := election.New(client, "e")
	l, err := e.Campaign(t.Context(), []byte("first"))
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		if err := l.Proclaim(ended, []byte("second")); !errors.Is(err, context.Canceled) {
			t.Fatalf("Proclaim returned %v; want context.Canceled", err)
		}
		work, done := l.Within(ended)
		if work.Err() == nil {
			t.Fatal("work within a ctx that has ended may begin")
		}
		done()
	}
	if leader, err := e.Leader(t.Context()); err != nil || string(leader.Value) != "first" {
		t.Errorf("the leader is shown with %q, %v", leader.Value, err)
	}
}

// A deadline that passes is no cancellation.
func TestProclaimAndRunUntilTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := mem.NewStore().Open("test")
		client, err := coord.New(conn, coord.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close(context.Background())
		e := election.New(client, "e")
		within := func() context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			t.Cleanup(cancel)
			return ctx
		}
		late := func(what string, err error) {
			if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v; want context.DeadlineExceeded, and not Canceled", what, err)
			}
		}
		late("Run", e.Run(within(), nil, func(ctx context.Context, _ *election.Leadership) error {
			<-ctx.Done()
			return ctx.Err()
		}, nil))
		l, err := e.Campaign(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		conn.Link().Freeze(mem.Both)
		late("Proclaim", l.Proclaim(within(), []byte("new")))
		conn.Link().Heal()
	})
}

// A ctx may end because something else was lost, and a leader still leads.
func TestProclaimUnderALostContext(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		l := a.elect("before")
		lost, err := election.New(a.Client, "other").Campaign(w.Ctx, nil)
		w.OK(err)
		dir, err := coord.Dir("election", "other")
		w.OK(err)
		nodes, err := a.List(w.Ctx, dir)
		w.OK(err)
		w.Store.Remove(recipetest.Namespace, dir, nodes[0].Key)
		<-lost.Done()
		err = l.Proclaim(lost.Context(), []byte("after"))
		w.Is(err, context.Canceled)
		if errors.Is(err, coord.ErrNotHeld) || l.Err() != nil {
			t.Errorf("Proclaim returned %v; the leadership: %v", err, l.Err())
		}
		w.OK(l.Proclaim(w.Ctx, []byte("after")))
		w.leader("after")
		w.resign(l)
	})
}
