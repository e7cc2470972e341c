package election_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/recipetest"
	"github.com/coordkit/coordkit/recipes/election"
)

func TestRunSurvivesALossWhileCampaigning(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client()
		l := w.client().elect("other")
		s := c.serve(false)
		for range 3 {
			session, err := c.Session(w.Ctx)
			w.OK(err)
			w.Store.Expire(session.ID())
			time.Sleep(2 * ttl)
			w.Nodes(2)
		}
		w.Remove(w.Nodes(2)[1].Key)
		time.Sleep(ttl)
		w.Nodes(2)
		s.wrote("")
		w.resign(l)
		s.term()
	})
}

// A store that is away for hours is asked now and then, and found again soon
// after it is back.
func TestRunOutlivesAnOutage(t *testing.T) {
	bubble(t, func(w *world) {
		var asked recipetest.Counter
		c := w.counted(&asked)
		s := c.serve(false)
		l := s.term()
		c.Link().Cut()
		<-l.Done()
		asked.Next()
		const outage = 6 * time.Hour
		time.Sleep(outage)
		// For a TTL at a time it tries twice a second, and then it pauses for up to five.
		if n := asked.Next(); n.Sessions+n.Requests > int64(outage/(550*time.Millisecond)) {
			t.Errorf("%+v in %v", n, outage)
		}
		w.OK(c.Link().Heal())
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
		w.Nodes(2)
		w.OK(waiting.Close(w.Ctx))
		b.ended(coord.ErrClosed)
		w.OK(leading.Close(w.Ctx))
		a.ended(coord.ErrClosed)
		a.wrote("+()")

		c := w.client()
		session, err := c.NewSession(w.Ctx, 0)
		w.OK(err)
		s := c.serve(false, coord.WithSession(session))
		s.term()
		w.Store.Expire(session.ID())
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
				w.Store.Expire(l.Session().ID())
			case term%3 == 2 && rough:
				w.RemoveDir()
			}
			<-ctx.Done()
			return ctx.Err()
		}
	}
	ctx, cancel := context.WithCancel(w.Ctx)
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
		l := clients[i%3].Link()
		l.Cut()
		time.Sleep(2 * ttl)
		w.OK(l.Heal())
	}
	cancel()
	all.Wait()
	if terms < 40 {
		w.Errorf("%d terms; want many", terms)
	}
	w.Nodes(0)
}

func TestRunWithoutOptionsAndWithAnUnreachableStore(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client()
		c.Link().Freeze(mem.Both)
		ctx, cancel := context.WithTimeout(w.Ctx, time.Minute)
		defer cancel()
		start := time.Now()
		err := c.election().Run(ctx, nil, func(context.Context, *election.Leadership) error { panic("called") }, nil)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("Run returned %v after %v", err, time.Since(start))
		}
		w.OK(c.Link().Heal())
		time.Sleep(2 * ttl) // the store ends the sessions whose opening was not heard of
	})
}
