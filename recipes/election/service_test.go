package election_test

import (
	"context"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
)

// service is a Run under way.
type service struct {
	w    *world
	c    *client
	stop context.CancelCauseFunc
	over chan struct{}
	err  error

	mu    sync.Mutex
	diary []string                  // "+" elected, "-" defeated, "(" and ")" the function
	terms chan *election.Leadership // of each function that has begun
	ends  chan error                // lets a function return, with what it returns
}

// serve runs a function that works until it is told to return, or, unless it is
// stubborn, until its ctx ends.
func (c *client) serve(stubborn bool, opts ...coord.RecipeOption) *service {
	s := &service{w: c.w, c: c, over: make(chan struct{}), terms: make(chan *election.Leadership, 100), ends: make(chan error)}
	var ctx context.Context
	ctx, s.stop = context.WithCancelCause(c.w.Ctx)
	c.w.Cleanup(func() {
		s.stop(nil)
		for {
			select {
			case s.ends <- nil: // to a stubborn function, of a test that has failed
			case <-s.over:
				return
			}
		}
	})
	go func() {
		defer close(s.over)
		s.err = c.election(opts...).Run(ctx, []byte("v"), func(ctx context.Context, l *election.Leadership) error {
			s.say("(")
			defer s.say(")")
			s.terms <- l
			quit := ctx.Done()
			if stubborn {
				quit = nil
			}
			select {
			case <-quit:
				return context.Cause(ctx)
			case err := <-s.ends:
				return err
			}
		}, &election.RunOptions{
			Elected:  func(*election.Leadership) { s.say("+") },
			Defeated: func(l *election.Leadership, err error) { s.say("-"); s.w.Is(l.Err(), coord.ErrNotHeld) },
		})
	}()
	synctest.Wait()
	return s
}

func (s *service) say(word string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.diary = append(s.diary, word)
}

func (s *service) wrote(want string) {
	s.w.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := strings.Join(s.diary, ""); got != want {
		s.w.Errorf("the diary of Run: %s; want %s", got, want)
	}
}

// term waits for the next term to begin.
func (s *service) term() *election.Leadership {
	s.w.Helper()
	select {
	case l := <-s.terms:
		return l
	case <-s.over:
		s.w.Fatalf("Run returned %v", s.err)
	case <-time.After(time.Hour):
		s.w.Fatal("not elected for an hour")
	}
	return nil
}

// ended wants Run to have returned an error that Is want.
func (s *service) ended(want ...error) {
	s.w.Helper()
	synctest.Wait()
	select {
	case <-s.over:
		s.w.Is(s.err, want...)
	default:
		s.w.Fatalf("Run goes on; want it ended with %v", want)
	}
}
