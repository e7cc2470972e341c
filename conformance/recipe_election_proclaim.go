package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// electionProclaimRules are what a leader's values promise to those who read
// them.
func electionProclaimRules(open electionOf) []Rule {
	return []Rule{
		{
			ID:   "K5",
			Text: "What is proclaimed counts only while its leader leads.",
			Cases: []Case{
				{Name: "resigned", Check: open.check(proclaimsNoMore(func(t poll, l subject.Leadership) { t.resign(l) }))},
				{Name: "lost", Needs: NeedExpire, Check: open.check(proclaimsNoMore(func(t poll, l subject.Leadership) { t.expire(l.Session().Driver()) }))},
				{Name: "removed", Needs: NeedRemoveNode, Check: open.check(proclaimsNoMore(func(t poll, _ subject.Leadership) { t.removeNode(t.candidates(1)[0]) }))},
				{Name: "resigned while the request is held", Needs: NeedLink | NeedHold, Check: open.check(proclaimsTooLate)},
				{Name: "ctx ended before", Check: open.check(proclaimsForEndedCtx)},
				{Name: "the session ends, at every step", Needs: NeedExpire, Check: open.check(proclaimsThrough(sessionEnds()...))},
			},
		},
		{
			ID:   "K6",
			Text: "A value never comes back once a later one was proclaimed.",
			Cases: []Case{
				{Name: "replies lost", Needs: NeedLink, Check: open.check(proclaimsAgain)},
				{Name: "given up while the request is held", Needs: NeedLink | NeedHold, Check: open.check(proclaimOvertaken)},
				{Name: "made again while the later one begins", Needs: NeedLink, Check: open.check(proclaimsTakeTurns)},
				{Name: "trouble, at every step", Check: open.check(proclaimsThrough(append(trouble(), whenGivenUpDuring)...))},
			},
		},
	}
}

// proclaimsForEndedCtx proclaims with a ctx that has ended: that fails, or it is done.
func proclaimsForEndedCtx(t poll) {
	c := t.Client()
	l := t.elect(c, "old")
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	if err := l.Proclaim(ctx, []byte("new")); err == nil {
		t.Eventually(t.patience(), t.leads(c, "new"))
	} else if !errors.Is(err, context.Canceled) {
		t.Fatalf("Proclaim with a ctx that had ended returned %q; want an error that is context.Canceled", err)
	}
	t.resign(l)
}

func proclaimsNoMore(end func(poll, subject.Leadership)) func(poll) {
	return func(t poll) {
		l := t.elect(t.Client(), "old")
		end(t, l)
		next := t.elect(t.Client(), "new")
		if err := l.Proclaim(t.ctx, []byte("stale")); !errors.Is(err, coord.ErrNotHeld) {
			t.Fatalf("Proclaim of a leader that was returned %s; want ErrNotHeld", errorOf(err))
		}
		t.settles(t.leads(t.Client(), "new"))
		t.resign(next)
	}
}

// proclaimsTooLate lets a Proclaim land when its leader has resigned and stands
// again, perhaps in the same slot.
func proclaimsTooLate(t poll) {
	c, link := t.ClientOverLink()
	l := t.elect(c, "old")
	release := t.hold(link)
	_ = t.briefly(func(ctx context.Context) error { return l.Proclaim(ctx, []byte("stale")) })
	t.resign(l)
	next := t.elect(c, "new")
	release()
	t.settles(t.leads(t.Client(), "new"))
	t.resign(next)
}

func proclaimsAgain(t poll) {
	c, link := t.ClientOverLink()
	l := t.elect(c, "0")
	link.DropReplies()
	_ = t.briefly(func(ctx context.Context) error { return l.Proclaim(ctx, []byte("1")) })
	t.heal(link)
	t.proclaim(l, "2")
	t.settles(t.leads(t.Client(), "2"))
	t.resign(l)
}

// proclaimsTakeTurns: the reply to the first value is lost, so it is proclaimed again by
// itself, and the second one begins before.
func proclaimsTakeTurns(t poll) {
	c, link := t.ClientOverLink()
	third := t.Client()
	all := []*follower{t.follow(t.ctx, third)}
	l := t.elect(c, "0")
	for round := range 3 {
		first, second := fmt.Sprint("first ", round), fmt.Sprint("second ", round)
		link.DropReplies()
		one := t.Go(func() { t.proclaim(l, first) })
		t.Eventually(t.patience(), t.leads(third, first))
		t.heal(link)
		other := t.Go(func() { t.proclaim(l, second) })
		t.Trial.join("Proclaim, over a link that works again", one, other)
		t.shown(all, second)
		t.Throughout(t.lateness(), t.leads(third, second))
		if words := all[0].words(); words[len(words)-1] != second {
			t.Fatalf("an observer is shown %s; want %s, which was proclaimed last", words[len(words)-1], second)
		}
	}
	t.resign(l)
}

func proclaimOvertaken(t poll) {
	c, link := t.ClientOverLink()
	l := t.elect(c, "0")
	release := t.hold(link)
	_ = t.briefly(func(ctx context.Context) error { return l.Proclaim(ctx, []byte("1")) })
	t.proclaim(l, "2")
	release()
	t.settles(t.leads(t.Client(), "2"))
	t.resign(l)
}
