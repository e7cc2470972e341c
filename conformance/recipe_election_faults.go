package conformance

import (
	"context"
	"errors"
	"slices"

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
			),
		},
		{
			ID:   "K11",
			Text: "A lost reply, a late request or a campaign that is given up leaves no second candidate, and no old entry is taken for one's own.",
			Cases: slices.Concat(
				cs.cases("replies lost", NeedLink, contestLostReply),
				cs.cases("replies lost while it waits", NeedLink, contestLostReplyWaiting),
				cs.cases("a reply lost and then the session", NeedLink|NeedExpire, contestLostReplyAndSession),
				cs.cases("given up while the request is held", NeedLink, contestLateRequest),
				cs.cases("given up in line", 0, contestGiveUp),
				cs.cases("those ahead come and go", 0, contestChurn),
				cs.acquiresAtEveryStep("given up", 0, whenGivenUpBefore, whenGivenUpAfter),
				cs.cases("given up, and back at once", NeedLink, contestBackAtOnce),
				cs.acquiresAtEveryStep("a request lost", 0, whenRequestLost),
				cs.acquiresAtEveryStep("a reply lost", 0, whenReplyLost),
				cs.acquiresAtEveryStep("refused", 0, whenRefused),
			),
		},
		{
			ID:   "K12",
			Text: "Resign is idempotent and retryable, and never ends a later leadership.",
			Cases: slices.Concat(
				cs.cases("again and again", 0, contestReleaseAgain),
				cs.cases("given up while the link is frozen", NeedLink, contestReleaseLate),
				cs.cases("under a ctx that has ended", 0, contestReleaseDead),
				cs.cases("under its own context", NeedLink, contestReleaseOwn),
				cs.cases("again while the first is on its way", NeedLink, contestReleaseTwice),
				cs.cases("an operator's removal is being looked into", NeedRemoveNode, contestReleaseWhileAsked),
				cs.releasesAtEveryStep("trouble", 0, trouble()...),
				cs.releasesAtEveryStep("the session ends", NeedExpire, whenEndedBefore, whenEndedAfter),
				[]Case{{Name: "nothing is proclaimed after it", Needs: NeedLink, Check: open.check(resignsForGood)}},
			),
		},
		{
			ID:   "K13",
			Text: "Whoever's entry an operator removes is told, as leader and as candidate.",
			Cases: slices.Concat(
				cs.cases("a candidate, then the leader", NeedRemoveNode, contestRemoved),
				cs.cases("the whole line", NeedRemoveDir, contestRemovedDir),
				cs.cases("of one process", NeedRemoveNode, contestRemovedOfOne),
				cs.cases("and back before the store says why", NeedRemoveNode, contestLateQuestion),
				cs.cases("given up before the store says why", NeedRemoveNode, contestQuestionGivenUp),
			),
		},
		{
			ID:   "K14",
			Text: "A candidate whose session is lost fails, and is never elected.",
			Cases: slices.Concat(
				cs.cases("ended by the store", NeedExpire, contestSessionLost),
				cs.acquiresAtEveryStep("ended by the store", NeedExpire, whenEndedBefore, whenEndedAfter),
			),
		},
		{
			ID:   "K15",
			Text: "Who is suspended, or loses the connection, keeps the office or the place in line and is woken.",
			Cases: slices.Concat(
				cs.cases("suspended when it is its turn", NeedLink, contestSuspended),
				cs.cases("all reconnect together", NeedLink, contestReconnect),
			),
		},
		{
			ID:    "K16",
			Text:  "Every call ends with its ctx while the link is frozen.",
			Cases: slices.Concat(cs.frozen(contestCtx), open.frozen("a leader", leaderCtx)),
		},
		{
			ID:   "K17",
			Text: "Closing a client ends its leaderships and candidacies and leaves nothing.",
			Cases: slices.Concat(
				cs.cases("while leading and standing", 0, contestClose),
				cs.cases("at any time", NeedLink, contestCloseAnytime),
			),
		},
	}
}

// electionLineRules are promises of the line in which candidates stand.
func electionLineRules(open electionOf) []Rule {
	cs := open.contests()
	return []Rule{
		{
			ID:   "K19",
			Text: "Do resigns whichever way its function ends, and tells of a loss.",
			Cases: slices.Concat(
				cs.cases("an error and a panic", 0, contestDo),
				cs.cases("the end of its goroutine", 0, contestDoGoexit),
				cs.cases("a loss", NeedExpire, contestDoLost),
			),
		},
		{
			ID:    "K20",
			Text:  "Foreign keys in a line are in nobody's way.",
			Cases: cs.cases("before and behind", NeedPlantForeign, contestForeign),
		},
		{
			ID:    "K21",
			Text:  "The order of a line survives the wrap of the store's counter.",
			Cases: cs.cases("across the wrap", NeedNearWrap, contestWrap),
		},
		{
			ID:    "K22",
			Text:  "After its clients are closed nothing is left in the store or the process.",
			Cases: cs.cases("after much ado", NeedResidue, contestResidue),
		},
		{
			ID:   "K23",
			Text: "A client that the store does not serve tries again at a pace.",
			Cases: slices.Concat(
				[]Case{
					{Name: "Run", Check: open.check(runPauses)},
					{Name: "Run, after it has led for long", Check: open.check(runPausesAnew)},
				},
				cs.cases("out of reach", 0, contestPace),
				cs.cases("out of reach once more", 0, contestPaceAnew),
				cs.cases("removed again and again", NeedRemoveDir, contestPaceRemoved),
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
	if err := l.Release(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Resign over a frozen link returned %s; want its ctx's error", errorOf(err))
	}
	if err := l.Proclaim(t.ctx, nil); !errors.Is(err, coord.ErrReleased) {
		t.Fatalf("Proclaim after Resign returned %s; want ErrReleased", errorOf(err))
	}
	t.heal(link)
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
		{"Resign", l.Release},
	})
}
