package conformance

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord"
)

// electionFaultRules are the promises of the election that only a fault, or an
// end, puts to the test.
func electionFaultRules(open electionOf) []Rule {
	cs := open.contests()
	return []Rule{
		{
			ID:   "K10",
			Text: "A leadership has ended, and its context with it, before anybody else is elected.",
			Cases: slices.Concat(
				cs.frozen(contestLoss),
				open.frozen("observed", deposedFirst),
				cs.cases("resigned over a slow link", NeedLink, contestReleaseSlow),
				cs.cases("closed", 0, contestClosed),
			),
		},
		{
			ID:   "K11",
			Text: "A lost reply, a late request or a campaign that is given up leaves no second candidate, and no caller takes an old entry for its own.",
			Cases: slices.Concat(
				cs.losingReplies(),
				cs.cases("given up in line", 0, contestGiveUp),
				cs.churning(),
			),
		},
		{
			ID:   "K12",
			Text: "Resign is idempotent and retryable, and never ends a later leadership.",
			Cases: slices.Concat(
				cs.releasing("again and again"),
				[]Case{
					{Name: "nothing is proclaimed after it", Needs: NeedLink, Check: open.check(resignsForGood)},
					{Name: "nothing is proclaimed while it is not confirmed", Check: open.check(resignsInSilence)},
				},
			),
		},
		{
			ID:    "K13",
			Text:  "A leader or candidate whose entry an operator removes is told.",
			Cases: cs.removing("a candidate, then the leader"),
		},
		{
			ID:    "K14",
			Text:  "A candidate whose session is lost fails, and is never elected.",
			Cases: cs.losingSession(),
		},
		{
			ID:    "K15",
			Text:  "A leader or candidate that is suspended, or loses its connection, keeps its place in line and is woken.",
			Cases: cs.reconnecting(),
		},
		{
			ID:    "K16",
			Text:  "Every call ends with its ctx while the link is frozen.",
			Cases: slices.Concat(cs.frozen(contestCtx), open.frozen("a leader", leaderCtx)),
		},
		{
			ID:    "K17",
			Text:  "Closing a client ends its leaderships and candidacies and leaves nothing.",
			Cases: cs.closing("while leading and standing"),
		},
	}
}

// electionLineRules are promises of the line in which candidates stand.
func electionLineRules(open electionOf) []Rule {
	cs := open.contests()
	return []Rule{
		{
			ID:    "K19",
			Text:  "Do resigns whichever way its function ends, and tells of a loss.",
			Cases: cs.doing(),
		},
		cs.foreignRule("K20"),
		cs.wrapRule("K21"),
		cs.residueRule("K22"),
		{
			ID:   "K23",
			Text: "A client that the store does not serve tries again at a pace.",
			Cases: slices.Concat(
				[]Case{
					{Name: "Run", Check: open.check(runPauses)},
					{Name: "Run, after it has led for long", Check: open.check(runPausesAnew)},
					{Name: "Run, pause after pause", Check: open.check(runPausesWithinBounds)},
					{Name: "Run, pauses by default", Check: open.check(runPausesByDefault)},
					{Name: "Run, after it has waited for long", Check: open.check(runPausesAfterWaiting)},
				},
				cs.pacing(),
			),
		},
	}
}

func deposedFirst(t poll, fault func(Link)) {
	all := []*follower{t.follow(t.ctx, t.Client()), t.follow(t.ctx, t.Client())}
	c, link := t.ClientOverLink()
	l := t.elect(c, "a")
	next := t.stand(t.ctx, t.Client(), "b")
	t.candidates(2)
	t.shown(all, "a")
	fault(link)
	second := t.elected(next, "the next in line")
	t.deposed(l, "the leader that was cut off", coord.ErrSessionLost)
	t.shown(all, "b")
	t.allPossible(all)
	t.resign(second)
}

func resignsForGood(t poll) {
	c, link := t.ClientOverLink()
	l := t.elect(c, "a")
	link.Freeze(netfault.Both)
	ctx, cancel := context.WithTimeout(t.ctx, t.h.TTL/8)
	defer cancel()
	var proclaimed error
	before := t.Go(func() { proclaimed = l.Proclaim(t.ctx, []byte("b")) })
	t.pause() // so that, as a rule, it has begun
	if err := l.Release(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Resign over a frozen link returned %s; want its ctx's error", errorOf(err))
	}
	if !t.within(100*time.Millisecond, before) || !errors.Is(proclaimed, coord.ErrReleased) {
		t.Fatalf("Proclaim, begun before Resign and not answered, returned %s, or does not return; want ErrReleased", errorOf(proclaimed))
	}
	if err := l.Proclaim(t.ctx, nil); !errors.Is(err, coord.ErrReleased) {
		t.Fatalf("Proclaim after Resign returned %s; want ErrReleased", errorOf(err))
	}
	t.heal(link)
	t.resign(l)
	t.empty()
}

// resignsInSilence: the entry is there until the store has confirmed its end, and says no
// more than it did.
func resignsInSilence(t poll) {
	pass, let := context.WithCancel(t.ctx)
	defer let()
	c := t.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		switch c.op {
		case "Update":
			ctx = context.WithoutCancel(ctx) // it is on its way, and not called back
		case "Delete":
			select { // it is made all the same
			case <-pass.Done():
			case <-ctx.Done():
			}
		}
		return next(ctx)
	})
	l := t.elect(c, "old")
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	if err := l.Release(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("Resign under a ctx that has ended returned %s; want its ctx's error", errorOf(err))
	}
	if err := l.Proclaim(t.ctx, []byte("new")); !errors.Is(err, coord.ErrReleased) {
		t.Fatalf("Proclaim after Resign returned %s; want ErrReleased", errorOf(err))
	}
	if err := t.leads(t.Client(), "old")(); err != nil {
		t.Fatalf("of one who has resigned, which the store has not confirmed: %v", err)
	}
	let()
	t.resign(l)
	t.empty()
}

// leaderCtx lets a leader's calls run into the end of their ctx while nothing
// answers.
func leaderCtx(t poll, fault func(Link)) {
	c, link := t.ClientOverLink()
	l := t.elect(c, "v")
	e := t.open(c, name)
	fault(link)
	t.endWithCtx([]method{
		{"Leader", func(ctx context.Context) error { _, err := e.Leader(ctx); return err }},
		{"Proclaim", func(ctx context.Context) error { return l.Proclaim(ctx, nil) }},
	})
	t.Go(func() { _ = l.Proclaim(t.ctx, nil) }) // until the store answers, or the session ends
	t.pause()
	t.endWithCtx([]method{
		{"Proclaim, while another one is under way,", func(ctx context.Context) error { return l.Proclaim(ctx, nil) }},
		{"Resign", l.Release},
	})
}
