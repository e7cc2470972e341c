package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
)

func candidatesShow(t poll) {
	a, b, third := t.Client(), t.Client(), t.Client()
	if _, err := t.open(third, name).Leader(t.ctx); !errors.Is(err, election.ErrNoLeader) {
		t.Fatalf("Leader where nobody stands returned %s; want ErrNoLeader", errorOf(err))
	}
	l := t.elect(a, "a\nof two lines")
	s := t.standing(t.ctx, b, "b", 2)
	all, err := t.open(third, name).Candidates(t.ctx)
	if err != nil || len(all.Holders) != 1 || len(all.Waiters) != 1 {
		t.Fatalf("Candidates: %+v, %s; want a leader and a candidate", all, errorOf(err))
	}
	h, w := all.Holders[0], all.Waiters[0]
	switch {
	case string(h.Value) != "a\nof two lines" || string(w.Value) != "b":
		t.Fatalf("the values are shown as %q and %q", h.Value, w.Value)
	case h.Owner.PID == 0 || h.Token != l.Token() || h.Session != l.Session().ID() || h.Key == "" || w.Token <= h.Token:
		t.Fatalf("the leader is listed as %+v and the candidate as %+v", h, w)
	}
	t.proclaim(l, "c")
	if err := t.leads(third, "c")(); err != nil {
		t.Fatalf("after Proclaim: %v", err)
	}
	if now, err := t.open(third, name).Leader(t.ctx); err != nil || h.Since.IsZero() || !now.Since.Equal(h.Since) {
		t.Fatalf("the leader was shown as one that stood since %v, and after Proclaim, since %v, %s", h.Since, now.Since, errorOf(err))
	}
	t.resign(l)
	t.resign(t.elected(s, "the candidate"))
	t.longValues(a, third)
}

// longValues wants values of the greatest length to be shown, and longer ones to be refused.
func (t poll) longValues(c, third *coord.Client) {
	value := func(r string, more int) string { return strings.Repeat(r, coord.MaxValue+more) }
	l := t.elect(c, value("a", 0))
	for _, want := range []string{value("a", 0), value("b", 0)} {
		t.proclaim(l, want)
		if err := l.Proclaim(t.ctx, []byte(value("c", 1))); !errors.Is(err, coord.ErrInvalid) {
			t.Fatalf("Proclaim of a value that is too long returned %s; want ErrInvalid", errorOf(err))
		}
		if err := t.leads(third, want)(); err != nil {
			t.Fatalf("with a value of the greatest length: %.100v", err)
		}
	}
	t.resign(l)
	if _, err := t.open(c, name).Campaign(t.ctx, []byte(value("c", 1))); !errors.Is(err, coord.ErrInvalid) {
		t.Fatalf("Campaign with a value that is too long returned %s; want ErrInvalid", errorOf(err))
	}
	t.empty()
}

// nextIsCutOff: whose turn it is, and who does not know it, does not lead.
func nextIsCutOff(t poll) {
	third := t.Client()
	all := []*follower{t.follow(t.ctx, third)}
	c, link := t.ClientOverLink()
	e := t.open(c, name)
	own := poll{t.arena, func(*coord.Client, string) subject.Electing { return e }}
	l := t.elect(t.Client(), "a")
	t.shown(all, "a")
	for _, value := range []string{"b", "c"} { // who had to wait the last time campaigns with one request less
		t.cutOffBefore(all, third, l, own.standing(t.ctx, c, value, 2), value, link)
		l = t.elect(third, "a")
		t.shown(all, "a")
	}
	t.allPossible(all)
	t.resign(l)
}

// cutOffBefore has next be the leader after l, and not know it for a while.
func (t poll) cutOffBefore(all []*follower, third *coord.Client, l subject.Leadership, next *campaign, value string, link Link) {
	t.settles(func() error { t.candidates(2); return t.leads(third, "a")() }) // and it has noted that it has to wait
	link.Freeze(netfault.Both)
	t.resign(l)
	t.Throughout(t.h.TTL/8, func() error {
		if slices.Contains(all[0].words(), value) {
			return errors.New("an observer is shown a leader who does not know that it is its turn")
		}
		if led, err := t.open(third, name).Leader(t.ctx); !errors.Is(err, election.ErrNoLeader) {
			return fmt.Errorf("by Leader %q leads, %s, who does not know that it is its turn; want ErrNoLeader", led.Value, errorOf(err))
		}
		c, err := t.open(third, name).Candidates(t.ctx)
		if err != nil || len(c.Holders) > 0 || len(c.Waiters) != 1 || string(c.Waiters[0].Value) != value {
			return fmt.Errorf("by Candidates there are %+v, %s; want one who waits", c, errorOf(err))
		}
		return nil
	})
	t.heal(link)
	l = t.elected(next, "the next in line")
	t.shown(all, value)
	t.resign(l)
}
