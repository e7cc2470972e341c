package conformance

import (
	"context"
	"errors"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
)

// electionFaultRules are the promises of the election that only a fault puts to
// the test.
func electionFaultRules() []Rule {
	return []Rule{
		{
			ID:    "K10",
			Text:  "A leader that is cut off is told of its loss before anybody else is elected.",
			Cases: perDirection(deposedFirst),
		},
		{
			ID:   "K11",
			Text: "A lost reply, a late request or a campaign that is given up leaves no second candidate.",
			Cases: []Case{
				{Name: "replies lost", Needs: NeedLink, Check: campaignRepliesLost},
				{Name: "given up while the request is held", Needs: NeedLink, Check: campaignLate},
				{Name: "given up in line", Check: campaignGivenUp},
			},
		},
		{
			ID:    "K12",
			Text:  "Resign is idempotent and retryable, and never ends a later leadership.",
			Cases: []Case{{Name: "given up while the link is frozen", Needs: NeedLink, Check: resignLate}},
		},
		{
			ID:    "K13",
			Text:  "Whoever's entry an operator removes is told, as leader and as candidate.",
			Cases: []Case{{Name: "a candidate, then the leader", Needs: NeedRemoveNode, Check: removedCandidate}},
		},
		{
			ID:    "K14",
			Text:  "A candidate whose session is lost fails, and is never elected.",
			Cases: []Case{{Name: "ended by the store", Needs: NeedExpire, Check: candidateLosesSession}},
		},
		{
			ID:    "K15",
			Text:  "Connections that break together change no leader.",
			Cases: []Case{{Name: "all are reset", Needs: NeedLink, Check: resetsChangeNothing}},
		},
		{
			ID:    "K16",
			Text:  "Campaign, Proclaim, Leader and Resign end with their ctx while the link is frozen.",
			Cases: perDirection(electionEndsWithCtx),
		},
		{
			ID:    "K17",
			Text:  "Closing a client ends its leaderships and candidacies and leaves nothing.",
			Cases: []Case{{Name: "while leading and standing", Check: closeEndsCandidacies}},
		},
	}
}

func deposedFirst(t *Trial, fault func(Link)) {
	all := []*follower{t.follow(t.ctx, t.Client()), t.follow(t.ctx, t.Client())}
	c, link := t.ClientOverLink()
	l := t.elect(c, "a")
	next := t.stand(t.ctx, t.Client(), "b")
	t.candidates(2)
	t.shown(all, "a")
	fault(link)
	told := false
	grant := t.Go(func() {
		<-next.over
		told = ended(l.Done())
	})
	if !t.within(t.h.Expiry+t.patience(), grant) {
		t.Fatalf("the next in line is not elected")
	}
	second := t.elected(next, "the next in line")
	if !told && l.Err() == nil {
		t.Fatalf("the next in line was elected, and the leader had not been told")
	}
	t.deposed(l, "the leader that was cut off", coord.ErrSessionLost)
	if second.Token() <= l.Token() {
		t.Fatalf("the next in line was elected with token %d after %d", second.Token(), l.Token())
	}
	t.shown(all, "b")
	t.allPossible(all)
}

func campaignRepliesLost(t *Trial) {
	c, link := t.ClientOverLink()
	t.resign(t.elect(c, "")) // so that there is a session
	link.DropReplies()
	s := t.stand(t.ctx, c, "v")
	t.candidates(1)
	t.heal(link)
	l := t.elected(s, "after a lost reply")
	t.settles(func() error { t.candidates(1); return nil })
	t.resign(l)
	t.candidates(0)
}

func campaignLate(t *Trial) {
	c, link := t.ClientOverLink()
	t.resign(t.elect(c, ""))
	link.Freeze(netfault.Up)
	ctx, cancel := context.WithTimeout(t.ctx, t.h.TTL/8)
	defer cancel()
	t.notElected(t.stand(ctx, c, "v"), "given up over a frozen link", context.DeadlineExceeded)
	t.heal(link)
	t.settles(func() error { t.candidates(0); return nil })
	t.resign(t.elect(t.Client(), ""))
}

func campaignGivenUp(t *Trial) {
	l := t.elect(t.Client(), "a")
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	bored := t.standing(ctx, t.Client(), "b", 2)
	patient := t.standing(t.ctx, t.Client(), "c", 3)
	cancel()
	t.notElected(bored, "the candidate that gave up", context.Canceled)
	t.candidates(2)
	t.resign(l)
	t.resign(t.elected(patient, "the candidate behind the one that gave up"))
	t.candidates(0)
}

func resignLate(t *Trial) {
	c, link := t.ClientOverLink()
	l := t.elect(c, "a")
	next := t.standing(t.ctx, t.Client(), "b", 2)
	link.Freeze(netfault.Both)
	ctx, cancel := context.WithTimeout(t.ctx, t.h.TTL/8)
	defer cancel()
	if err := l.Resign(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Resign over a frozen link returned %s; want its ctx's error", errorOf(err))
	}
	if err := l.Proclaim(t.ctx, nil); !errors.Is(err, coord.ErrReleased) {
		t.Fatalf("Proclaim after Resign returned %s; want ErrReleased", errorOf(err))
	}
	t.heal(link)
	t.resign(l)
	second := t.elected(next, "the next in line")
	again := t.standing(t.ctx, c, "c", 2) // the same slot may be in use again
	t.resign(l)
	t.settles(func() error { t.candidates(2); return second.Err() })
	t.resign(second)
	t.resign(t.elected(again, "the first leader, once more"))
}

func removedCandidate(t *Trial) {
	l := t.elect(t.Client(), "a")
	second := t.standing(t.ctx, t.Client(), "b", 2)
	third := t.standing(t.ctx, t.Client(), "c", 3)
	nodes := t.candidates(3)
	t.removeNode(nodes[1])
	t.notElected(second, "the candidate whose entry was removed", coord.ErrRemoved)
	t.stillStands(third, "the candidate behind it")
	t.removeNode(nodes[0])
	t.deposed(l, "the leader whose entry was removed", coord.ErrRemoved)
	t.resign(t.elected(third, "the next in line"))
}

func candidateLosesSession(t *Trial) {
	l := t.elect(t.Client(), "a")
	c := t.Client()
	s, err := c.Session(t.ctx)
	if err != nil {
		t.Fatalf("opening a session: %v", err)
	}
	second := t.standing(t.ctx, c, "b", 2)
	t.expire(s.Driver())
	t.notElected(second, "the candidate whose session the store ended", coord.ErrSessionLost)
	t.resign(l)
	t.resign(t.elect(c, "b")) // with another session
}

func resetsChangeNothing(t *Trial) {
	var links []Link
	var clients []*coord.Client
	for range 3 {
		c, l := t.ClientOverLink()
		clients, links = append(clients, c), append(links, l)
	}
	l := t.elect(clients[0], "a")
	second := t.standing(t.ctx, clients[1], "b", 2)
	third := t.standing(t.ctx, clients[2], "c", 3)
	nodes := t.candidates(3)
	for range 5 {
		for _, link := range links {
			link.DropConnections()
		}
		t.sleep(t.h.TTL / 10)
	}
	t.settles(func() error {
		for i, n := range t.candidates(3) {
			if !n.Same(nodes[i]) {
				t.Fatalf("the entry at place %d is %s; it was %s", i, show(n), show(nodes[i]))
			}
		}
		return l.Err()
	})
	t.stillStands(second, "the next in line")
	t.resign(l)
	t.resign(t.elected(second, "the next in line"))
	t.resign(t.elected(third, "the last in line"))
}

func electionEndsWithCtx(t *Trial, fault func(Link)) {
	c, link := t.ClientOverLink()
	l := t.elect(c, "v")
	e := election.New(c, name)
	fault(link)
	start := time.Now()
	for _, one := range []method{
		{"Campaign", func(ctx context.Context) error { _, err := e.Campaign(ctx, nil); return err }},
		{"Leader", func(ctx context.Context) error { _, err := e.Leader(ctx); return err }},
		{"Proclaim", func(ctx context.Context) error { return l.Proclaim(ctx, nil) }},
		{"Resign", l.Resign},
	} {
		ctx, cancel := context.WithTimeout(t.ctx, t.h.TTL/12)
		var err error
		done := t.Go(func() { err = one.call(ctx) })
		<-ctx.Done()
		if !t.within(100*time.Millisecond, done) {
			t.Fatalf("%s did not return within 100 ms of its ctx's end", one.name)
		}
		cancel()
		// A call may get through in one direction, and the session may end
		// first on a machine that stood still.
		if err != nil && !errors.Is(err, context.DeadlineExceeded) && time.Since(start) < t.h.TTL/2 {
			t.Fatalf("%s returned %q; want its ctx's error", one.name, err)
		}
	}
}

func closeEndsCandidacies(t *Trial) {
	a, b := t.Client(), t.Client()
	l := t.elect(a, "a")
	second := t.standing(t.ctx, b, "b", 2)
	if err := b.Close(t.ctx); err != nil {
		t.Fatalf("Close of the candidate's client: %v", err)
	}
	t.notElected(second, "the candidate of the closed client", coord.ErrClosed)
	t.candidates(1)
	if err := a.Close(t.ctx); err != nil {
		t.Fatalf("Close of the leader's client: %v", err)
	}
	t.deposed(l, "the leader of the closed client", coord.ErrClosed)
	t.candidates(0)
}
