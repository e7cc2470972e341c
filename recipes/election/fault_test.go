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
				next := b.campaigning(w.ctx, "second")
				own := a.observe(w.ctx) // over the link that is cut
				w.patience()
				cut(a.conn.Link())
				told := make(chan time.Time, 1)
				stop := context.AfterFunc(first.Context(), func() { told <- time.Now() })
				defer stop()
				<-next.over
				at := <-told
				if next.err != nil || first.Context().Err() == nil || next.at.Before(at) {
					t.Fatalf("elected at %v, %v; the leader was told at %v", next.at, next.err, at)
				}
				w.lost(first, coord.ErrSessionLost)
				w.is(first.Resign(w.ctx), coord.ErrSessionLost)
				second := next.elected()
				if second.Token() <= first.Token() {
					t.Errorf("token %d after %d", second.Token(), first.Token())
				}
				crowd.agree("- first - second")
				own.shows("first")
				w.ok(a.conn.Link().Heal())
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
					fail(b.conn.Link())
				}
				second := b.campaigning(w.ctx, "b")
				time.Sleep(3 * time.Second)
				second.blocked()
				for range 3 {
					fail(b.conn.Link())
				}
				w.resign(l)
				w.patience()
				<-second.over
				l = second.elected()
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
		early := w.client().observe(w.ctx)
		l := a.elect("a")
		second := b.campaigning(w.ctx, "b")
		w.patience()
		for range 100 { // until it is healed
			b.conn.Link().LoseNextRequest(mem.OpUpdate)
		}
		w.resign(l)
		w.vacant()
		c, err := w.client().election().Candidates(w.ctx)
		if err != nil || len(c.Holders) != 0 || len(c.Waiters) != 1 || string(c.Waiters[0].Value) != "b" {
			t.Errorf("%+v, %v; want a candidate and no leader", c, err)
		}
		begun := w.client().observe(w.ctx)
		early.shows("- a -")
		begun.shows("-")
		second.blocked()
		w.ok(b.conn.Link().Heal())
		<-second.over
		l = second.elected()
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
			s, err := c.Session(w.ctx)
			w.ok(err)
			w.store.Expire(s.ID())
		}, coord.ErrSessionLost},
		"cut off":       {func(_ *world, c *client, _ string) { c.conn.Link().Cut() }, coord.ErrSessionLost},
		"removed":       {func(w *world, _ *client, key string) { w.store.Remove(namespace, line, key) }, coord.ErrRemoved},
		"closed":        {func(w *world, c *client, _ string) { w.ok(c.Close(w.ctx)) }, coord.ErrClosed},
		"ctx has ended": {func(*world, *client, string) { cancel() }, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			bubbleOver(t, false, func(w *world) {
				work := w.ctx
				if c.want == context.Canceled {
					work = ctx
				}
				first, b, d := w.client(), w.client(), w.client()
				crowd := w.crowd()
				l := first.elect("a")
				second := b.campaigning(work, "b")
				third := d.campaigning(w.ctx, "c")
				late := b.conn.Link().Hold(mem.OpUpdate)
				w.resign(l)
				<-late.Caught()
				c.end(w, b, w.nodes(2)[0].Key)
				<-second.over
				second.failed(c.want)
				<-third.over
				late.Release()
				l = third.elected()
				w.leader("c")
				crowd.agree("- a - c") // b never led
				w.ok(b.conn.Link().Heal())
				w.resign(l)
			})
		})
	}
}

func TestCandidateWhoseSessionIsLostIsNeverElected(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		l := a.elect("a")
		session, err := b.Session(w.ctx)
		w.ok(err)
		second := b.campaigning(w.ctx, "b")
		w.store.Expire(session.ID())
		time.Sleep(ttl)
		second.failed(coord.ErrSessionLost)
		w.resign(l)
		w.resign(b.elect("b"))
	})
}

func TestLostReplyMakesOneCandidate(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		_, err := a.Session(w.ctx)
		w.ok(err)
		for range 3 {
			a.conn.Link().DropNextReply(mem.OpCreate)
		}
		done := a.campaigning(w.ctx, "a")
		<-done.over
		w.nodes(1)
		w.leader("a")
		w.resign(done.elected())
		w.nodes(0)
	})
}

// An operator removes a waiting candidate, then the leader, then everything.
func TestOperatorRemovesEntries(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.client(), w.client(), w.client()
		crowd := w.crowd()
		witness := w.client().observe(w.ctx)
		first := a.elect("a")
		second, third := b.campaigning(w.ctx, "b"), c.campaigning(w.ctx, "c")
		w.patience()
		nodes := w.nodes(3)
		w.store.Remove(namespace, line, nodes[1].Key)
		time.Sleep(time.Second)
		second.failed(coord.ErrRemoved)
		third.blocked()
		w.store.Remove(namespace, line, nodes[0].Key)
		time.Sleep(time.Second)
		w.lost(first, coord.ErrRemoved)
		w.is(first.Resign(w.ctx), coord.ErrRemoved)
		leader := third.elected()
		witness.shows("- a - c")
		waiting := a.campaigning(w.ctx, "a2")
		w.store.RemoveDir(namespace, line)
		time.Sleep(time.Second)
		w.lost(leader, coord.ErrRemoved)
		waiting.failed(coord.ErrRemoved)
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
		waiting, observer := b.campaigning(w.ctx, "b"), b.observe(w.ctx)
		w.ok(b.Close(w.ctx))
		waiting.failed(coord.ErrClosed)
		observer.ended(coord.ErrClosed)
		w.ok(a.Close(w.ctx))
		w.lost(l, coord.ErrClosed)
		w.nodes(0)
		_, err := a.election().Campaign(w.ctx, nil)
		w.is(err, coord.ErrClosed)
	})
}

func TestDedicatedSessionIsNotReplaced(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		s, err := a.NewSession(w.ctx, 3*time.Second)
		w.ok(err)
		e := a.election(coord.WithSession(s))
		l, err := e.Campaign(w.ctx, nil)
		w.ok(err)
		w.store.Expire(s.ID())
		time.Sleep(3 * time.Second)
		w.lost(l, coord.ErrSessionLost)
		_, err = e.Campaign(w.ctx, nil)
		w.is(err, coord.ErrSessionLost)
		w.resign(a.elect("on the shared session"))
	})
}
