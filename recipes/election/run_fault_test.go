package election_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/election"
)

func TestRunSurvivesALossWhileCampaigning(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client()
		l := w.client().elect("other")
		s := c.serve(false)
		for range 3 {
			session, err := c.Session(w.ctx)
			w.ok(err)
			w.store.Expire(session.ID())
			time.Sleep(2 * ttl)
			w.nodes(2)
		}
		w.store.Remove(namespace, line, w.nodes(2)[1].Key)
		time.Sleep(ttl)
		w.nodes(2)
		s.wrote("")
		w.resign(l)
		s.term()
	})
}

// A store that is away for hours is asked now and then, and found again soon
// after it is back.
func TestRunOutlivesAnOutage(t *testing.T) {
	bubble(t, func(w *world) {
		conn := w.store.Open(namespace)
		counted := &counter{Conn: conn}
		var via driver.Conn = counted
		if w.plain {
			via = plainConn{counted}
		}
		c := w.clientOn(conn, via)
		s := c.serve(false)
		l := s.term()
		conn.Link().Cut()
		<-l.Done()
		counted.n.Store(0)
		const outage = 6 * time.Hour
		time.Sleep(outage)
		if n := counted.n.Load(); n > int64(outage/(250*time.Millisecond)) {
			t.Errorf("%d requests in %v", n, outage)
		}
		w.ok(conn.Link().Heal())
		start := time.Now()
		s.term()
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("elected %v after the store was back", d)
		}
		s.wrote("+()-+(")
	})
}

func TestRunReturnsWhatIsHopeless(t *testing.T) {
	bubble(t, func(w *world) {
		leading, waiting := w.client(), w.client()
		a := leading.serve(false)
		a.term()
		b := waiting.serve(false)
		w.nodes(2)
		w.ok(waiting.Close(w.ctx))
		b.ended(coord.ErrClosed)
		w.ok(leading.Close(w.ctx))
		a.ended(coord.ErrClosed)
		a.wrote("+()")

		c := w.client()
		session, err := c.NewSession(w.ctx, 0)
		w.ok(err)
		s := c.serve(false, coord.WithSession(session))
		s.term()
		w.store.Expire(session.ID())
		time.Sleep(2 * ttl)
		s.ended(coord.ErrSessionLost)
	})
}

// Two Runs on each of three clients. On one client no two functions ever run at
// a time. Of all together neither, as long as it is the links that fail: what the
// store ends on its own, or an operator removes, cannot be told before.
func TestNeverTwoFunctions(t *testing.T) {
	for name, rough := range map[string]bool{"broken links": false, "ended by the store": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) { neverTwo(w, rough) })
		})
	}
}

func neverTwo(w *world, rough bool) {
	var mu sync.Mutex
	inside := make([]int, 3) // by client
	terms := 0
	var newest uint64
	work := func(i int) func(context.Context, *election.Leadership) error {
		return func(ctx context.Context, l *election.Leadership) error {
			mu.Lock()
			inside[i]++
			if all := inside[0] + inside[1] + inside[2]; inside[i] > 1 || all > 1 && !rough {
				w.Errorf("%v functions run", inside)
			}
			if l.Token() <= newest {
				w.Errorf("a function with token %d began after %d", l.Token(), newest)
			}
			newest = l.Token()
			terms++
			term := terms
			mu.Unlock()
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				inside[i]--
			}()
			switch {
			case term%3 == 0:
				return election.ErrStepDown
			case term%3 == 1 && rough:
				w.store.Expire(l.Session().ID())
			case term%3 == 2 && rough:
				w.store.RemoveDir(namespace, line)
			}
			<-ctx.Done()
			return ctx.Err()
		}
	}
	ctx, cancel := context.WithCancel(w.ctx)
	var all sync.WaitGroup
	var clients []*client
	for i := range inside {
		c := w.client()
		clients = append(clients, c)
		for range 2 {
			all.Go(func() {
				if err := c.election().Run(ctx, nil, work(i), nil); !errors.Is(err, context.Canceled) {
					w.Errorf("Run: %v", err)
				}
			})
		}
	}
	for i := range 60 {
		time.Sleep(ttl)
		l := clients[i%3].conn.Link()
		l.Cut()
		time.Sleep(2 * ttl)
		w.ok(l.Heal())
	}
	cancel()
	all.Wait()
	if terms < 40 {
		w.Errorf("%d terms; want many", terms)
	}
	w.nodes(0)
}

func TestRunWithoutOptionsAndWithAnUnreachableStore(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client()
		c.conn.Link().Freeze(mem.Both)
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		start := time.Now()
		err := c.election().Run(ctx, nil, func(context.Context, *election.Leadership) error { panic("called") }, nil)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("Run returned %v after %v", err, time.Since(start))
		}
		w.ok(c.conn.Link().Heal())
		time.Sleep(2 * ttl) // the store ends the sessions whose opening was not heard of
	})
}
