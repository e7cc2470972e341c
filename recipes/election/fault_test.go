package election_test

import (
	"context"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
)

// The leader learns of its loss before the next one is elected, whichever way it
// is cut off, and everybody sees the one, the vacancy and the other.
func TestLossIsToldBeforeTheNextElection(t *testing.T) {
	for name, cut := range map[string]func(*mem.Link){
		"frozen both ways": func(l *mem.Link) { l.Freeze(mem.Both) },
		"frozen up":        func(l *mem.Link) { l.Freeze(mem.Up) },
		"frozen down":      func(l *mem.Link) { l.Freeze(mem.Down) },
		"black hole":       func(l *mem.Link) { l.Blackhole(mem.Both) },
		"refused":          func(l *mem.Link) { l.Cut() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a, b := w.client(), w.client()
				crowd := w.crowd()
				first := a.elect("first")
				next := b.campaigning(w.Ctx, "second")
				own := a.observe(w.Ctx) // over the link that is cut
				w.patience()
				cut(a.Link())
				told := make(chan time.Time, 1)
				stop := context.AfterFunc(first.Context(), func() { told <- time.Now() })
				defer stop()
				<-next.Over
				at := <-told
				if next.Err != nil || first.Context().Err() == nil || next.At.Before(at) {
					t.Fatalf("elected at %v, %v; the leader was told at %v", next.At, next.Err, at)
				}
				w.lost(first, coord.ErrSessionLost)
				w.Is(first.Resign(w.Ctx), coord.ErrSessionLost)
				second := next.Granted()
				if second.Token() <= first.Token() {
					t.Errorf("token %d after %d", second.Token(), first.Token())
				}
				crowd.agree("- first - second")
				own.shows("first")
				w.OK(a.Link().Heal())
				time.Sleep(2 * ttl)
				own.shows("first - second")
				w.resign(second)
				w.resign(a.elect("again")) // with a new session
			})
		})
	}
}

// What a candidate writes when it takes office: the reply is lost.
func TestTakingOfficeOutlivesFailures(t *testing.T) {
	for name, fail := range map[string]func(*mem.Link){
		"request lost": func(l *mem.Link) { l.LoseNextRequest(mem.OpUpdate) },
		"reply lost":   func(l *mem.Link) { l.DropNextReply(mem.OpUpdate) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a, b := w.client(), w.client()
				crowd := w.crowd()
				l := a.elect("a")
				for range 2 { // the note that it waits, and the repetition
					fail(b.Link())
				}
				second := b.campaigning(w.Ctx, "b")
				time.Sleep(3 * time.Second)
				blocked(second)
				for range 3 {
					fail(b.Link())
				}
				w.resign(l)
				w.patience()
				<-second.Over
				l = second.Granted()
				w.leader("b")
				crowd.agree("a - b")
				w.resign(l)
			})
		})
	}
}

// Between the end of one leadership and the next in line taking office nobody
// leads, and everybody is shown that.
func TestVacancyUntilTheNextTakesOffice(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		crowd := w.crowd()
		early := w.client().observe(w.Ctx)
		l := a.elect("a")
		second := b.campaigning(w.Ctx, "b")
		w.patience()
		for range 100 { // until it is healed
			b.Link().LoseNextRequest(mem.OpUpdate)
		}
		w.resign(l)
		w.vacant()
		c, err := w.client().election().Candidates(w.Ctx)
		if err != nil || len(c.Holders) != 0 || len(c.Waiters) != 1 || string(c.Waiters[0].Value) != "b" {
			t.Errorf("%+v, %v; want a candidate and no leader", c, err)
		}
		begun := w.client().observe(w.Ctx)
		early.shows("- a -")
		begun.shows("-")
		blocked(second)
		w.OK(b.Link().Heal())
		<-second.Over
		l = second.Granted()
		early.shows("- a - b")
		begun.shows("- b")
		crowd.agree("- a - b")
		w.resign(l)
	})
}

// Whoever was granted, and cannot take office, is not elected, and its place is
// given to the next.
func TestTakingOfficeFails(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for name, c := range map[string]struct {
		end  func(w *world, c *client, key string)
		want error
	}{
		"session lost": {func(w *world, c *client, _ string) {
			s, err := c.Session(w.Ctx)
			w.OK(err)
			w.Store.Expire(s.ID())
		}, coord.ErrSessionLost},
		"cut off":       {func(_ *world, c *client, _ string) { c.Link().Cut() }, coord.ErrSessionLost},
		"removed":       {func(w *world, _ *client, key string) { w.Remove(key) }, coord.ErrRemoved},
		"closed":        {func(w *world, c *client, _ string) { w.OK(c.Close(w.Ctx)) }, coord.ErrClosed},
		"ctx has ended": {func(*world, *client, string) { cancel() }, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			bubbleOver(t, false, func(w *world) {
				work := w.Ctx
				if c.want == context.Canceled {
					work = ctx
				}
				first, b, d := w.client(), w.client(), w.client()
				crowd := w.crowd()
				l := first.elect("a")
				second := b.campaigning(work, "b")
				third := d.campaigning(w.Ctx, "c")
				late := b.Link().Hold(mem.OpUpdate)
				w.resign(l)
				<-late.Caught()
				c.end(w, b, w.Nodes(2)[0].Key)
				<-second.Over
				second.Failed(c.want)
				<-third.Over
				late.Release()
				l = third.Granted()
				w.leader("c")
				crowd.agree("- a - c") // b never led
				w.OK(b.Link().Heal())
				w.resign(l)
			})
		})
	}
}

func TestCandidateWhoseSessionIsLostIsNeverElected(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		l := a.elect("a")
		session, err := b.Session(w.Ctx)
		w.OK(err)
		second := b.campaigning(w.Ctx, "b")
		w.Store.Expire(session.ID())
		time.Sleep(ttl)
		second.Failed(coord.ErrSessionLost)
		w.resign(l)
		w.resign(b.elect("b"))
	})
}

func TestLostReplyMakesOneCandidate(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		_, err := a.Session(w.Ctx)
		w.OK(err)
		for range 3 {
			a.Link().DropNextReply(mem.OpCreate)
		}
		done := a.campaigning(w.Ctx, "a")
		<-done.Over
		w.Nodes(1)
		w.leader("a")
		w.resign(done.Granted())
		w.Nodes(0)
	})
}

// An operator removes a waiting candidate, then the leader, then everything.
func TestOperatorRemovesEntries(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.client(), w.client(), w.client()
		crowd := w.crowd()
		witness := w.client().observe(w.Ctx)
		first := a.elect("a")
		second, third := b.campaigning(w.Ctx, "b"), c.campaigning(w.Ctx, "c")
		w.patience()
		nodes := w.Nodes(3)
		w.Remove(nodes[1].Key)
		time.Sleep(time.Minute) // who waits is not watched at once
		second.Failed(coord.ErrRemoved)
		blocked(third)
		w.Remove(nodes[0].Key)
		time.Sleep(time.Second)
		w.lost(first, coord.ErrRemoved)
		w.Is(first.Resign(w.Ctx), coord.ErrRemoved)
		leader := third.Granted()
		witness.shows("- a - c")
		waiting := a.campaigning(w.Ctx, "a2")
		w.RemoveDir()
		time.Sleep(time.Second)
		w.lost(leader, coord.ErrRemoved)
		waiting.Failed(coord.ErrRemoved)
		witness.shows("- a - c -")
		l := b.elect("b")
		if l.Token() <= leader.Token() {
			t.Errorf("token %d after %d", l.Token(), leader.Token())
		}
		witness.shows("- a - c - b")
		crowd.agree("- a - c - b")
		w.resign(l)
	})
}

func TestCloseEndsLeadershipAndCandidacy(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		l := a.elect("a")
		waiting, observer := b.campaigning(w.Ctx, "b"), b.observe(w.Ctx)
		w.OK(b.Close(w.Ctx))
		waiting.Failed(coord.ErrClosed)
		observer.ended(coord.ErrClosed)
		w.OK(a.Close(w.Ctx))
		w.lost(l, coord.ErrClosed)
		w.Nodes(0)
		_, err := a.election().Campaign(w.Ctx, nil)
		w.Is(err, coord.ErrClosed)
	})
}

func TestDedicatedSessionIsNotReplaced(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		s, err := a.NewSession(w.Ctx, 3*time.Second)
		w.OK(err)
		e := a.election(coord.WithSession(s))
		l, err := e.Campaign(w.Ctx, nil)
		w.OK(err)
		w.Store.Expire(s.ID())
		time.Sleep(3 * time.Second)
		w.lost(l, coord.ErrSessionLost)
		_, err = e.Campaign(w.Ctx, nil)
		w.Is(err, coord.ErrSessionLost)
		w.resign(a.elect("on the shared session"))
	})
}
