package election_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/recipetest"
	"github.com/coordkit/coordkit/recipes/election"
)

// An observer whose link breaks, in whichever way, is shown what it has missed
// that still stands, and nothing twice.
func TestObserversSurviveReconnects(t *testing.T) {
	for name, fault := range map[string]func(*mem.Link){
		"reset":      func(l *mem.Link) { l.DropConnections() },
		"frozen":     func(l *mem.Link) { l.Freeze(mem.Both) },
		"black hole": func(l *mem.Link) { l.Blackhole(mem.Both) },
		"refused":    func(l *mem.Link) { l.Cut() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a, b := w.client(), w.client()
				crowd := w.crowd()
				for round := range 4 {
					l := a.elect("a")
					w.patience()
					for _, c := range crowd.clients {
						fault(c.Link())
					}
					next := b.campaigning(w.Ctx, "b")
					w.proclaim(l, "missed")
					w.resign(l)
					l = next.Granted()
					time.Sleep(time.Duration(round) * ttl)
					w.proclaim(l, fmt.Sprint("b", round))
					for _, c := range crowd.clients {
						w.OK(c.Link().Heal())
					}
					time.Sleep(ttl) // more than the longest pause between two lists
					for i, o := range crowd.all {
						if err := o.plausible(); err != nil {
							t.Errorf("observer %d: %v: %s", i, err, o.words())
						}
					}
					w.resign(l)
					w.patience()
				}
				crowd.agree("b3 -")
			})
		})
	}
}

// A consumer that is busy is shown the state that lasts, and a vacancy before it.
func TestBusyConsumer(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client()
		next, stop := iter.Pull2(c.election().Observe(w.Ctx))
		defer stop()
		show := func() string {
			o, err, ok := next()
			if err != nil || !ok {
				t.Fatalf("%v, %v", err, ok)
			}
			if o.Vacant {
				return "-"
			}
			return string(o.Leader.Value)
		}
		a := w.client()
		l := a.elect("1")
		if got := show(); got != "1" {
			t.Errorf("shown %s", got)
		}
		for i := range 5 {
			w.resign(l)
			l = a.elect(fmt.Sprint(i))
			w.proclaim(l, fmt.Sprint(i, i))
			w.patience()
		}
		if one, two := show(), show(); one != "-" || two != "4 4" {
			t.Errorf("shown %s %s; want the vacancy and what lasts", one, two)
		}
		w.resign(l)
	})
}

func TestObserveEndsWithTheReason(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client()
		l := c.elect("v")
		ctx, cancel := context.WithCancelCause(w.Ctx)
		first, second := c.observe(ctx), c.observe(w.Ctx)
		cancel(errGone)
		first.ended(context.Canceled)
		w.Says(first.err, errGone.Error())
		over, done := context.WithCancel(w.Ctx)
		done()
		c.observe(over).ended(context.Canceled)
		second.shows("v")
		for o, err := range c.election().Observe(w.Ctx) { // left by the consumer
			if err != nil || string(o.Leader.Value) != "v" {
				t.Errorf("%+v, %v", o, err)
			}
			break
		}
		w.resign(l)
		w.OK(c.Close(w.Ctx))
		second.ended(coord.ErrClosed)
	})
	synctest.Test(t, func(t *testing.T) {
		conn := denied{mem.NewStore().Open(recipetest.Namespace)}
		c, err := coord.New(conn, coord.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(t.Context())
		w := &world{&recipetest.World{T: t, Ctx: t.Context()}}
		client := &client{&recipetest.Process{Client: c}, w}
		client.observe(t.Context()).ended(coord.ErrDenied)
		_, err = client.election().Leader(t.Context())
		w.Is(err, coord.ErrDenied)
	})
}

var errGone = fmt.Errorf("gone home")

// denied is a connection that may not look.
type denied struct{ driver.Conn }

func (denied) Caps() driver.Caps { return 0 }

func (denied) List(context.Context, string) ([]driver.Node, error) {
	return nil, &driver.Error{Op: "list", Kind: driver.ErrDenied}
}

// Leaders come and go under 50 observers, by resignation, loss and removal, while
// links break; all are shown a possible story with the same end.
func TestObserversAgree(t *testing.T) {
	bubble(t, func(w *world) {
		crowd := w.crowd()
		ctx, cancel := context.WithCancel(w.Ctx)
		defer cancel()
		done := make(chan struct{})
		const candidates = 5
		for i := range candidates {
			c := w.client()
			go func() {
				defer func() { done <- struct{}{} }()
				for n := 0; ctx.Err() == nil; n++ {
					l, err := c.election().Campaign(ctx, fmt.Append(nil, i, ".", n))
					if err != nil {
						continue
					}
					for m := range 3 {
						time.Sleep(time.Duration(i*100+m*37) * time.Millisecond)
						_ = l.Proclaim(ctx, fmt.Append(nil, i, ".", n, ".", m))
					}
					switch n % 3 {
					case 0:
						_ = l.Resign(ctx)
					case 1:
						w.Store.Expire(l.Session().ID())
					case 2:
						w.Remove(nodeOf(l, c))
					}
					<-l.Done()
				}
			}()
		}
		for i := range 200 {
			crowd.clients[i%len(crowd.clients)].Link().DropConnections()
			time.Sleep(100 * time.Millisecond)
		}
		cancel()
		for range candidates {
			<-done
		}
		time.Sleep(ttl)
		l := w.client().elect("the last")
		crowd.agree("- the last")
		for _, o := range crowd.all {
			if !w.Plain && len(o.seen) < 50 {
				t.Errorf("shown no more than %s", o.words())
			}
		}
		w.resign(l)
	})
}

// nodeOf finds the key of a leader's entry.
func nodeOf(l *election.Leadership, c *client) string {
	all, _ := c.election().Candidates(context.Background())
	for _, h := range append(all.Holders, all.Waiters...) {
		if h.Token == l.Token() {
			return h.Key
		}
	}
	return ""
}

// Who changes what it was shown changes it for nobody else.
func TestShownValuesAreTheCallers(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		l := a.elect("v")
		for range 2 {
			leader, err := b.election().Leader(w.Ctx)
			w.OK(err)
			if string(leader.Value) != "v" {
				t.Fatalf("the leader's value is %q", leader.Value)
			}
			leader.Value[0] = 'x'
		}
		for range 2 {
			for o, err := range b.election().Observe(w.Ctx) {
				w.OK(err)
				if string(o.Leader.Value) != "v" {
					t.Fatalf("the leader's value is %q", o.Leader.Value)
				}
				o.Leader.Value[0] = 'x'
				break
			}
		}
		w.resign(l)
	})
}
