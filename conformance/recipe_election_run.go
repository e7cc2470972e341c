package conformance

import (
	"context"
	"errors"
	"sync"

	"github.com/coordkit/coordkit/recipes/election"
)

// electionRunRules are the promises of Run to services.
func electionRunRules() []Rule {
	return []Rule{
		{
			ID:   "K18",
			Text: "Run campaigns again after a loss, runs no two functions at a time, and resigns only after its function.",
			Cases: []Case{
				{Name: "ended by the store", Needs: NeedExpire, Check: runsAgain},
				{Name: "a function that does not heed its ctx", Check: runResignsLast},
			},
		},
	}
}

// runsAgain has two Runs on each of two clients, whose sessions the store ends.
func runsAgain(t *Trial) {
	var mu sync.Mutex
	inside := make([]int, 2)
	terms := make(chan *election.Leadership)
	ctx, stop := context.WithCancel(t.ctx)
	defer stop()
	var all []<-chan struct{}
	for i := range inside {
		c := t.Client()
		for range 2 {
			all = append(all, t.Go(func() {
				err := election.New(c, name).Run(ctx, nil, func(ctx context.Context, l *election.Leadership) error {
					mu.Lock()
					inside[i]++
					if inside[i] > 1 {
						t.decide(Failed, "two functions run at a time on one client")
					}
					mu.Unlock()
					select {
					case terms <- l:
					case <-ctx.Done():
					}
					<-ctx.Done()
					mu.Lock()
					defer mu.Unlock()
					inside[i]--
					return nil
				}, nil)
				if !errors.Is(err, context.Canceled) {
					t.decide(Failed, "Run returned "+errorOf(err)+"; want its ctx's error")
				}
			}))
		}
	}
	for range 5 {
		select {
		case l := <-terms:
			t.expire(l.Session().Driver())
		case <-t.ctx.Done():
			t.Fatalf("nobody is elected any more")
		}
	}
	stop()
	for _, one := range all {
		if !t.within(t.patience(), one) {
			t.Fatalf("Run does not return when its ctx has ended")
		}
	}
}

func runResignsLast(t *Trial) {
	ctx, stop := context.WithCancel(t.ctx)
	defer stop()
	inside, leave := make(chan *election.Leadership, 1), make(chan struct{})
	c := t.Client()
	run := t.Go(func() {
		_ = election.New(c, name).Run(ctx, nil, func(_ context.Context, l *election.Leadership) error {
			inside <- l
			select { // it heeds no ctx but the trial's
			case <-leave:
			case <-t.ctx.Done():
			}
			return nil
		}, nil)
	})
	var l *election.Leadership
	select {
	case l = <-inside:
	case <-run:
		t.Fatalf("Run has returned and run nothing")
	}
	next := t.standing(t.ctx, t.Client(), "", 2)
	stop()
	t.settles(func() error { t.candidates(2); return l.Err() })
	t.stillStands(next, "the next in line, while the function runs")
	close(leave)
	t.resign(t.elected(next, "the next in line"))
	if !t.within(t.patience(), run) {
		t.Fatalf("Run does not return")
	}
}
