package conformance

import (
	"context"
	"errors"

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
			},
		},
		{
			ID:   "K6",
			Text: "A value never comes back once a later one was proclaimed.",
			Cases: []Case{
				{Name: "replies lost", Needs: NeedLink, Check: open.check(proclaimsAgain)},
				{Name: "given up while the request is held", Needs: NeedLink | NeedHold, Check: open.check(proclaimOvertaken)},
			},
		},
	}
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
	release := t.h.Hold(link)
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

func proclaimOvertaken(t poll) {
	c, link := t.ClientOverLink()
	l := t.elect(c, "0")
	release := t.h.Hold(link)
	_ = t.briefly(func(ctx context.Context) error { return l.Proclaim(ctx, []byte("1")) })
	t.proclaim(l, "2")
	release()
	t.settles(t.leads(t.Client(), "2"))
	t.resign(l)
}
