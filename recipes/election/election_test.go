package election_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/recipetest"
	"github.com/coordkit/coordkit/recipes/election"
)

func TestFirstComeFirstServed(t *testing.T) {
	bubble(t, func(w *world) {
		crowd := w.crowd()
		witness := w.client().observe(w.Ctx)
		clients := []*client{w.client(), w.client(), w.client()}
		l := clients[0].elect("l")
		var line []*attempt
		for i := range 6 { // some wait for an entry of their own process, some for another's
			line = append(line, clients[i%4%3].campaigning(w.Ctx, fmt.Sprint(i)))
		}
		w.Nodes(7)
		witness.shows("- l")
		want := "- l"
		for i, a := range line {
			w.resign(l)
			next := a.Granted()
			w.patience()
			if next.Token() <= l.Token() {
				t.Errorf("leader %d has token %d after %d", i, next.Token(), l.Token())
			}
			if i+1 < len(line) {
				blocked(line[i+1])
			}
			w.leader(fmt.Sprint(i))
			want += fmt.Sprint(" - ", i)
			l = next
		}
		w.resign(l)
		witness.shows(want + " -")
		crowd.agree(want + " -")
		w.Nodes(0)
		w.vacant()
	})
}

func TestCandidateThatGivesUpLeavesNothing(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.client(), w.client(), w.client()
		l := a.elect("a")
		ctx, cancel := context.WithCancelCause(w.Ctx)
		second, third := b.campaigning(ctx, "b"), c.campaigning(w.Ctx, "c")
		cancel(errors.New("bored"))
		second.Failed(context.Canceled)
		w.Says(second.Err, "bored")
		w.Nodes(2)
		blocked(third)
		w.resign(l)
		w.resign(third.Granted())
	})
}

func TestTryCampaign(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		l, err := a.election().TryCampaign(w.Ctx, []byte("a"))
		w.OK(err)
		w.leader("a")
		for range 3 {
			got, err := b.election().TryCampaign(w.Ctx, nil)
			w.Is(err, coord.ErrBusy)
			if got != nil {
				t.Error("TryCampaign returned a leadership beside its error")
			}
			w.Nodes(1)
		}
		w.resign(l)
		l, err = b.election().TryCampaign(w.Ctx, nil)
		w.OK(err)
		w.resign(l)
	})
}

func TestLeaderAndCandidates(t *testing.T) {
	bubble(t, func(w *world) {
		conn := w.Store.Open(recipetest.Namespace)
		named, err := coord.New(conn, coord.Config{Owner: coord.Owner{Name: "billing", Labels: map[string]string{"zone": "b"}}})
		w.OK(err)
		defer named.Close(context.Background())
		w.vacant()
		l, err := election.New(named, "e").Campaign(w.Ctx, []byte("first\nof two lines"))
		w.OK(err)
		b, c := w.client(), w.client()
		waiting := []*attempt{b.campaigning(w.Ctx, "b"), c.campaigning(w.Ctx, "")}
		w.Store.PutForeign(recipetest.Namespace, line, "somebody-elses")

		got := w.leader("first\nof two lines")
		if got.Owner.Name != "billing" || got.Owner.Labels["zone"] != "b" || got.Owner.PID == 0 ||
			got.Token != l.Token() || got.Session != l.Session().ID() || got.Since.IsZero() || got.Key == "" {
			t.Errorf("the leader shows as %+v", got)
		}
		all, err := w.client().election().Candidates(w.Ctx)
		if err != nil || len(all.Holders) != 1 || len(all.Waiters) != 2 ||
			string(all.Holders[0].Value) != "first\nof two lines" ||
			string(all.Waiters[0].Value) != "b" || len(all.Waiters[1].Value) != 0 {
			t.Errorf("%+v, %v; want a leader and two candidates with their values", all, err)
		}
		w.proclaim(l, "")
		w.leader("")
		w.resign(l)
		w.proclaim(waiting[0].Granted(), "bb")
		w.leader("bb")
		w.resign(waiting[0].Held)
		w.resign(waiting[1].Granted())
		w.RemoveDir()
	})
}

func TestInvalidArguments(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client()
		long := make([]byte, coord.MaxValue+1)
		for _, name := range []string{"", strings.Repeat("x", 256)} {
			e := election.New(c.Client, name)
			_, err1 := e.Campaign(w.Ctx, nil)
			_, err2 := e.TryCampaign(w.Ctx, nil)
			_, err3 := e.Candidates(w.Ctx)
			_, err4 := e.Leader(w.Ctx)
			err5 := e.Do(w.Ctx, nil, func(context.Context, *election.Leadership) error { panic("called") })
			err6 := e.Run(w.Ctx, nil, func(context.Context, *election.Leadership) error { panic("called") }, nil)
			var err7 error
			for _, err7 = range e.Observe(w.Ctx) {
			}
			for _, err := range []error{err1, err2, err3, err4, err5, err6, err7} {
				w.Is(err, coord.ErrInvalid)
			}
		}
		_, err := c.election().Campaign(w.Ctx, long)
		w.Is(err, coord.ErrInvalid)
		w.Nodes(0)
		l, err := c.election().Campaign(w.Ctx, long[1:])
		w.OK(err)
		w.Is(l.Proclaim(w.Ctx, long), coord.ErrInvalid)
		w.proclaim(l, string(long[1:]))
		s, err := w.client().Session(w.Ctx)
		w.OK(err)
		_, err = c.election(coord.WithSession(s)).Campaign(w.Ctx, nil)
		w.Is(err, coord.ErrInvalid)
	})
}

// A leader does not wait for itself.
func TestCampaignUnderOnesOwnLeadership(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		l := a.elect("a")
		a.campaigning(l.Context(), "again").Failed(coord.ErrInvalid)
		w.Is(a.election().Run(l.Context(), nil, nil, nil), coord.ErrInvalid)
		other, err := election.New(a.Client, "other").Campaign(l.Context(), nil)
		w.OK(err)
		w.resign(other)
		second := b.campaigning(l.Context(), "b") // another client's
		blocked(second)
		detached := context.WithoutCancel(l.Context())
		w.resign(l)
		second.Failed(context.Canceled) // its ctx was the leadership's
		w.Says(second.Err, coord.ErrReleased.Error())
		w.resign(a.campaigning(detached, "again").Granted())

		l = a.elect("a")
		detached = context.WithoutCancel(l.Context())
		w.Remove(w.Nodes(1)[0].Key) // and who has lost it has nothing to wait for
		<-l.Done()
		w.Is(l.Resign(w.Ctx), coord.ErrNotHeld)
		w.resign(a.campaigning(detached, "again").Granted())
	})
}

func TestDo(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		oops := errors.New("oops")
		err := a.election().Do(w.Ctx, []byte("v"), func(ctx context.Context, l *election.Leadership) error {
			w.leader("v")
			return oops
		})
		if err != oops {
			t.Errorf("Do returned %v; want fn's error as it is", err)
		}
		w.Nodes(0)
		func() {
			defer func() {
				if r := recover(); r != "boom" {
					t.Errorf("recovered %v", r)
				}
			}()
			_ = a.election().Do(w.Ctx, nil, func(context.Context, *election.Leadership) error { panic("boom") })
		}()
		w.Nodes(0)
		err = a.election().Do(w.Ctx, nil, func(ctx context.Context, l *election.Leadership) error {
			w.Store.Expire(l.Session().ID())
			<-ctx.Done()
			return nil
		})
		w.Is(err, coord.ErrNotHeld, coord.ErrSessionLost)
		ctx, cancel := context.WithCancel(w.Ctx)
		err = a.election().Do(ctx, nil, func(ctx context.Context, l *election.Leadership) error {
			cancel()
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if !errors.Is(err, context.Canceled) || errors.Is(err, coord.ErrNotHeld) {
			t.Errorf("Do returned %v; want the end of its ctx and no loss", err)
		}
		w.Nodes(0)
	})
}

func TestRevoke(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, operator := w.client(), w.client(), w.client()
		l := a.elect("a")
		second := b.campaigning(w.Ctx, "b")
		asked := make(chan error)
		go func() { asked <- operator.election().Revoke(w.Ctx, l.Token(), "maintenance") }()
		r, err := l.Revoked(w.Ctx)
		if err != nil || r.Reason != "maintenance" || r.By.PID == 0 {
			t.Errorf("%+v, %v", r, err)
		}
		w.leader("a")
		w.resign(l)
		w.OK(<-asked)
		_, err = l.Revoked(w.Ctx)
		w.Is(err, coord.ErrNotHeld)
		w.resign(second.Granted())
	})
}

// What an election costs the store.
func TestRoundTrips(t *testing.T) {
	bubbleOver(t, false, func(w *world) {
		var n recipetest.Counter
		c := w.counted(&n)
		_, err := c.Session(w.Ctx)
		w.OK(err)
		n.Want(t, "opening a session", recipetest.Counts{Sessions: 1})
		l := c.elect("v")
		n.Want(t, "election when free", recipetest.Counts{Requests: 1})
		w.proclaim(l, "w")
		n.Want(t, "proclaiming", recipetest.Counts{Requests: 1})
		w.resign(l)
		n.Want(t, "resigning", recipetest.Counts{Requests: 1})

		first := w.client().elect("first")
		second := c.campaigning(w.Ctx, "second")
		n.Want(t, "joining, and noting to wait", recipetest.Counts{Requests: 2})
		w.resign(first)
		l = second.Granted()
		n.Want(t, "taking office", recipetest.Counts{Requests: 1, Wakes: 1})
		third := c.campaigning(w.Ctx, "third")
		n.Want(t, "joining, and noting to wait", recipetest.Counts{Requests: 2})
		w.resign(l)
		third.Granted()
		n.Want(t, "resigning, and taking office in the same process", recipetest.Counts{Requests: 2})
		w.resign(third.Held)
	})
}

// A crowd of candidates: a change of the leader wakes the next one, and the one behind
// it, which lists the line once.
func TestResignWakesTwo(t *testing.T) {
	bubbleOver(t, false, func(w *world) {
		var n recipetest.Counter
		c := w.counted(&n)
		l := w.client().elect("l")
		second := w.client().campaigning(w.Ctx, "second")
		for range 100 {
			blocked(c.campaigning(w.Ctx, ""))
		}
		n.Next()
		w.resign(l)
		second.Granted()
		n.Want(t, "a change of the leader, among the others", recipetest.Counts{Requests: 1, Wakes: 1})
	})
}
