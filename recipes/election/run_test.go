package election_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
)

var errOops = errors.New("oops")

func TestRunReturnsWhatItsFunctionSays(t *testing.T) {
	for _, want := range []error{nil, errOops} {
		bubble(t, func(w *world) {
			s := w.client().serve(false)
			l := s.term()
			w.leader("v")
			s.ends <- want
			<-s.over
			if s.err != want {
				t.Errorf("Run returned %v; want %v as it is", s.err, want)
			}
			w.lost(l, coord.ErrReleased)
			s.wrote("+()")
			w.Nodes(0)
		})
	}
}

// Losses of all kinds are answered with another campaign, and the one after the
// last with the end.
func TestRunCampaignsAgainAfterALoss(t *testing.T) {
	for name, lose := range map[string]func(*service, *election.Leadership){
		"session ended": func(s *service, l *election.Leadership) { s.w.Store.Expire(l.Session().ID()) },
		"removed":       func(s *service, l *election.Leadership) { s.w.RemoveDir() },
		"cut off": func(s *service, l *election.Leadership) {
			s.c.Link().Cut()
			<-l.Done()
			time.Sleep(2 * ttl)
			s.w.OK(s.c.Link().Heal())
		},
		"stepped down": func(s *service, l *election.Leadership) { s.ends <- fmt.Errorf("too hot: %w", election.ErrStepDown) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				crowd := w.crowd()
				s := w.client().serve(false)
				var last uint64
				want := ""
				for range 3 {
					l := s.term()
					if l.Token() <= last {
						t.Errorf("token %d after %d", l.Token(), last)
					}
					last = l.Token()
					lose(s, l)
					want += "+()-"
				}
				s.term()
				s.wrote(want + "+(")
				crowd.agree("- v")
				reason := errors.New("maintenance")
				s.stop(reason)
				s.ended(context.Canceled, reason)
				s.wrote(want + "+()")
				w.Nodes(0)
			})
		})
	}
}

// The function ends before the leadership is given up, and one process follows
// the other.
func TestRunResignsAfterItsFunction(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client().serve(true), w.client().serve(false)
		l := a.term()
		a.stop(nil)
		synctest.Wait()
		if l.Err() != nil || len(b.terms) > 0 {
			t.Errorf("resigned while its function runs: %v", l.Err())
		}
		w.Nodes(2)
		time.Sleep(time.Hour)
		a.ends <- errOops
		a.ended(context.Canceled, errOops)
		b.term()
	})
}

// A function that does not heed its ctx: Run waits for it, and so does another
// Run on the same client, also of another value; the rest of the world goes on.
func TestStubbornFunctionIsNeverJoinedByAnother(t *testing.T) {
	bubble(t, func(w *world) {
		c, other := w.client(), w.client()
		first := c.serve(true)
		l := first.term()
		second := c.serve(false)
		w.Nodes(2)
		w.Store.Expire(l.Session().ID())
		time.Sleep(time.Hour)
		w.lost(l, coord.ErrSessionLost)
		first.wrote("+(")
		second.wrote("") // elected it was, but it must not begin
		w.Nodes(0)
		elsewhere := other.serve(false)
		elsewhere.term()
		elsewhere.ends <- nil
		elsewhere.ended()
		first.ends <- errOops
		synctest.Wait()
		first.wrote("+()-")
		time.Sleep(time.Minute)
		if n := len(first.terms) + len(second.terms); n != 1 {
			t.Errorf("%d functions run; want one", n)
		}
		w.Nodes(2)
		if len(first.terms) == 1 {
			first.ends <- nil
		}
	})
}

func TestRunEndsWhileItWaitsForAFunction(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client()
		first := c.serve(true)
		w.Store.Expire(first.term().Session().ID())
		time.Sleep(ttl)
		second := c.serve(false)
		second.wrote("")
		second.stop(nil)
		second.ended(context.Canceled)
		first.stop(nil)
		first.ends <- nil
		first.ended(context.Canceled)
	})
}

func TestRunStopsWhileCampaigning(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.client().elect("other")
		s := w.client().serve(false)
		w.Nodes(2)
		s.stop(errOops)
		s.ended(context.Canceled)
		s.wrote("")
		w.Nodes(1)
		w.resign(l)
	})
}

func TestRunStopsWhilePausing(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client()
		s := c.serve(false)
		w.Store.Expire(s.term().Session().ID())
		for s.c.Link().Cut(); ; time.Sleep(time.Millisecond) {
			synctest.Wait()
			s.mu.Lock()
			defeated := len(s.diary) == 4
			s.mu.Unlock()
			if defeated {
				break
			}
		}
		s.stop(nil)
		s.ended(context.Canceled)
		w.OK(c.Link().Heal())
		time.Sleep(2 * ttl) // the store ends the sessions whose opening was not heard of
	})
}

// A panic goes on to whoever called Run, and the office is free.
func TestRunWhoseFunctionPanics(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client()
		for range 2 {
			func() {
				defer func() {
					if r := recover(); r != "boom" {
						t.Errorf("recovered %v", r)
					}
				}()
				_ = c.election().Run(w.Ctx, nil, func(context.Context, *election.Leadership) error { panic("boom") }, nil)
			}()
			w.Nodes(0)
		}
	})
}
