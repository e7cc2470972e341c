package election_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
)

func TestFirstComeFirstServed(t *testing.T) {
	bubble(t, func(w *world) {
		crowd := w.crowd()
		witness := w.client().observe(w.ctx)
		clients := []*client{w.client(), w.client(), w.client()}
		l := clients[0].elect("l")
		var line []*attempt
		for i := range 6 { // some wait for an entry of their own process, some for another's
			line = append(line, clients[i%4%3].campaigning(w.ctx, fmt.Sprint(i)))
		}
		w.nodes(7)
		witness.shows("- l")
		want := "- l"
		for i, a := range line {
			w.resign(l)
			next := a.elected()
			w.patience()
			if next.Token() <= l.Token() {
				t.Errorf("leader %d has token %d after %d", i, next.Token(), l.Token())
			}
			if i+1 < len(line) {
				line[i+1].blocked()
			}
			w.leader(fmt.Sprint(i))
			want += fmt.Sprint(" - ", i)
			l = next
		}
		w.resign(l)
		witness.shows(want + " -")
		crowd.agree(want + " -")
		w.nodes(0)
		w.vacant()
	})
}

func TestCandidateThatGivesUpLeavesNothing(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.client(), w.client(), w.client()
		l := a.elect("a")
		ctx, cancel := context.WithCancelCause(w.ctx)
		reason := errors.New("bored")
		second, third := b.campaigning(ctx, "b"), c.campaigning(w.ctx, "c")
		cancel(reason)
		second.failed(context.Canceled)
		w.is(second.err, reason)
		w.nodes(2)
		third.blocked()
		w.resign(l)
		w.resign(third.elected())
	})
}

func TestTryCampaign(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		l, err := a.election().TryCampaign(w.ctx, []byte("a"))
		w.ok(err)
		w.leader("a")
		for range 3 {
			got, err := b.election().TryCampaign(w.ctx, nil)
			w.is(err, coord.ErrBusy)
			if got != nil {
				t.Error("TryCampaign returned a leadership beside its error")
			}
			w.nodes(1)
		}
		w.resign(l)
		l, err = b.election().TryCampaign(w.ctx, nil)
		w.ok(err)
		w.resign(l)
	})
}

func TestLeaderAndCandidates(t *testing.T) {
	bubble(t, func(w *world) {
		conn := w.store.Open(namespace)
		named, err := coord.New(conn, coord.Config{Owner: coord.Owner{Name: "billing", Labels: map[string]string{"zone": "b"}}})
		w.ok(err)
		defer named.Close(context.Background())
		w.vacant()
		l, err := election.New(named, "e").Campaign(w.ctx, []byte("first\nof two lines"))
		w.ok(err)
		b, c := w.client(), w.client()
		waiting := []*attempt{b.campaigning(w.ctx, "b"), c.campaigning(w.ctx, "")}
		w.store.PutForeign(namespace, line, "somebody-elses")

		got := w.leader("first\nof two lines")
		if got.Owner.Name != "billing" || got.Owner.Labels["zone"] != "b" || got.Owner.PID == 0 ||
			got.Token != l.Token() || got.Session != l.Session().ID() || got.Since.IsZero() || got.Key == "" {
			t.Errorf("the leader shows as %+v", got)
		}
		all, err := w.client().election().Candidates(w.ctx)
		if err != nil || len(all.Holders) != 1 || len(all.Waiters) != 2 ||
			string(all.Holders[0].Value) != "first\nof two lines" ||
			string(all.Waiters[0].Value) != "b" || len(all.Waiters[1].Value) != 0 {
			t.Errorf("%+v, %v; want a leader and two candidates with their values", all, err)
		}
		w.proclaim(l, "")
		w.leader("")
		w.resign(l)
		w.proclaim(waiting[0].elected(), "bb")
		w.leader("bb")
		w.resign(waiting[0].l)
		w.resign(waiting[1].elected())
		w.store.RemoveDir(namespace, line)
	})
}

func TestInvalidArguments(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client()
		long := make([]byte, coord.MaxValue+1)
		for _, name := range []string{"", strings.Repeat("x", 256)} {
			e := election.New(c.Client, name)
			_, err1 := e.Campaign(w.ctx, nil)
			_, err2 := e.TryCampaign(w.ctx, nil)
			_, err3 := e.Candidates(w.ctx)
			_, err4 := e.Leader(w.ctx)
			err5 := e.Do(w.ctx, nil, func(context.Context, *election.Leadership) error { panic("called") })
			err6 := e.Run(w.ctx, nil, func(context.Context, *election.Leadership) error { panic("called") }, nil)
			var err7 error
			for _, err7 = range e.Observe(w.ctx) {
			}
			for _, err := range []error{err1, err2, err3, err4, err5, err6, err7} {
				w.is(err, coord.ErrInvalid)
			}
		}
		_, err := c.election().Campaign(w.ctx, long)
		w.is(err, coord.ErrInvalid)
		w.nodes(0)
		l, err := c.election().Campaign(w.ctx, long[1:])
		w.ok(err)
		w.is(l.Proclaim(w.ctx, long), coord.ErrInvalid)
		w.proclaim(l, string(long[1:]))
		s, err := w.client().Session(w.ctx)
		w.ok(err)
		_, err = c.election(coord.WithSession(s)).Campaign(w.ctx, nil)
		w.is(err, coord.ErrInvalid)
	})
}

// A leader does not wait for itself.
func TestCampaignUnderOnesOwnLeadership(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		l := a.elect("a")
		a.campaigning(l.Context(), "again").failed(coord.ErrInvalid)
		w.is(a.election().Run(l.Context(), nil, nil, nil), coord.ErrInvalid)
		other, err := election.New(a.Client, "other").Campaign(l.Context(), nil)
		w.ok(err)
		w.resign(other)
		second := b.campaigning(l.Context(), "b") // another client's
		second.blocked()
		detached := context.WithoutCancel(l.Context())
		w.resign(l)
		second.failed(coord.ErrReleased) // its ctx was the leadership's
		w.resign(a.campaigning(detached, "again").elected())
	})
}

func TestDo(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		oops := errors.New("oops")
		err := a.election().Do(w.ctx, []byte("v"), func(ctx context.Context, l *election.Leadership) error {
			w.leader("v")
			return oops
		})
		if err != oops {
			t.Errorf("Do returned %v; want fn's error as it is", err)
		}
		w.nodes(0)
		func() {
			defer func() {
				if r := recover(); r != "boom" {
					t.Errorf("recovered %v", r)
				}
			}()
			_ = a.election().Do(w.ctx, nil, func(context.Context, *election.Leadership) error { panic("boom") })
		}()
		w.nodes(0)
		err = a.election().Do(w.ctx, nil, func(ctx context.Context, l *election.Leadership) error {
			w.store.Expire(l.Session().ID())
			<-ctx.Done()
			return nil
		})
		w.is(err, coord.ErrNotHeld, coord.ErrSessionLost)
		ctx, cancel := context.WithCancel(w.ctx)
		err = a.election().Do(ctx, nil, func(ctx context.Context, l *election.Leadership) error {
			cancel()
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if !errors.Is(err, context.Canceled) || errors.Is(err, coord.ErrNotHeld) {
			t.Errorf("Do returned %v; want the end of its ctx and no loss", err)
		}
		w.nodes(0)
	})
}

func TestRevoke(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, operator := w.client(), w.client(), w.client()
		l := a.elect("a")
		second := b.campaigning(w.ctx, "b")
		asked := make(chan error)
		go func() { asked <- operator.election().Revoke(w.ctx, l.Token(), "maintenance") }()
		r, err := l.Revoked(w.ctx)
		if err != nil || r.Reason != "maintenance" || r.By.PID == 0 {
			t.Errorf("%+v, %v", r, err)
		}
		w.leader("a")
		w.resign(l)
		w.ok(<-asked)
		_, err = l.Revoked(w.ctx)
		w.is(err, coord.ErrNotHeld)
		w.resign(second.elected())
	})
}

// What an election costs the store.
func TestRoundTrips(t *testing.T) {
	bubbleOver(t, false, func(w *world) {
		conn := w.store.Open(namespace)
		counted := &counter{Conn: conn}
		c := w.clientOn(conn, counted)
		_, err := c.Session(w.ctx)
		w.ok(err)
		counted.want(t, "opening a session", 1)
		l := c.elect("v")
		counted.want(t, "election when free", 1)
		w.proclaim(l, "w")
		counted.want(t, "proclaiming", 1)
		w.resign(l)
		counted.want(t, "resigning", 1)

		first := w.client().elect("first")
		second := c.campaigning(w.ctx, "second")
		counted.want(t, "joining, and noting to wait", 2)
		w.resign(first)
		l = second.elected()
		counted.want(t, "taking office", 1)
		third := c.campaigning(w.ctx, "third")
		counted.want(t, "joining, and noting to wait", 2)
		w.resign(l)
		third.elected()
		counted.want(t, "resigning, and taking office in the same process", 2)
		w.resign(third.l)
	})
}

// A crowd of candidates: a change of the leader wakes the next one alone.
func TestResignWakesNobodyElse(t *testing.T) {
	bubbleOver(t, false, func(w *world) {
		conn := w.store.Open(namespace)
		counted := &counter{Conn: conn}
		c := w.clientOn(conn, counted)
		l := w.client().elect("l")
		second := w.client().campaigning(w.ctx, "second")
		for range 100 {
			c.campaigning(w.ctx, "").blocked()
		}
		counted.n.Store(0)
		w.resign(l)
		second.elected()
		counted.want(t, "a change of the leader, among the others", 0)
	})
}
