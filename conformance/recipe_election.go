package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// electionOf makes the election of a name.
type electionOf func(c *coord.Client, name string) subject.Electing

// poll is a trial of an election.
type poll struct {
	arena
	open electionOf
}

// check makes a check of a case of the election's own.
func (open electionOf) check(f func(poll)) func(*Trial) {
	return func(t *Trial) { f(poll{arena{t, "election"}, open}) }
}

// frozen makes a case of each direction.
func (open electionOf) frozen(what string, f func(poll, func(Link))) []Case {
	all := perDirection(func(t *Trial, fault func(Link)) { open.check(func(t poll) { f(t, fault) })(t) })
	for i := range all {
		all[i].Name = caseName(what, all[i].Name)
	}
	return all
}

// contests are two candidates.
func (open electionOf) contests() contests {
	want := func(c *coord.Client, name string) subject.Want { return open(c, name).Want([]byte("v")) }
	return contests{{kind: "election", first: want, second: want}}
}

// electionRules are the promises of the election.
func electionRules(open electionOf) []Rule {
	return slices.Concat(
		electionStandRules(open),
		electionProclaimRules(open),
		electionObserverRules(open),
		electionFaultRules(open),
		electionRunRules(open),
		electionLineRules(open),
		[]Rule{electionSessionRule(open), open.contests().wakeRule("K25"), open.contests().costRule("K26")},
	)
}

// electionStandRules are the promises of the election to those who stand in it.
// What it shows to those who follow is in recipe_election_observe.go.
func electionStandRules(open electionOf) []Rule {
	return []Rule{
		{
			ID:   "K1",
			Text: "One leads, and candidates are elected in the order in which they came, with rising tokens.",
			Cases: []Case{
				{Name: "of one process and of several", Check: open.check(electsInOrder)},
				{Name: "under its own leadership", Check: open.check(campaignsAgainstItself)},
				{Name: "under a leadership that was lost", Needs: NeedRemoveNode, Check: open.check(campaignsAfterLoss)},
			},
		},
		{
			ID:   "K2",
			Text: "TryCampaign does not wait, and leaves no candidate when it fails.",
			Cases: append(open.contests().trying(),
				Case{Name: "led by another", Check: open.check(tryCampaignLeavesNothing)},
			),
		},
		{
			ID:   "K3",
			Text: "The leader and the candidates are listed with who they are and their values, and no leader where there is none.",
			Cases: []Case{
				{Name: "from a third client", Check: open.check(candidatesShow)},
				{Name: "slices that are written over", Check: open.check(valuesAreCopied)},
				{Name: "the next in line is cut off", Needs: NeedLink, Check: open.check(nextIsCutOff)},
			},
		},
		{
			ID:   "K4",
			Text: "Whoever is asked to step down hears of it, who asked and why, and loses nothing.",
			Cases: append(open.contests().revocation(),
				Case{Name: "what it has proclaimed stays", Check: open.check(revokesLeader)}),
		},
	}
}

// campaign is a Campaign under way.
type campaign struct {
	l    subject.Leadership
	err  error
	over <-chan struct{}
}

// standing begins a Campaign and returns when it is in line as the one that makes
// it line entries long.
func (t poll) standing(ctx context.Context, c *coord.Client, value string, line int) *campaign {
	s := t.stand(ctx, c, value)
	t.candidates(line)
	return s
}

// stand begins a Campaign.
func (t poll) stand(ctx context.Context, c *coord.Client, value string) *campaign {
	s := &campaign{}
	s.over = t.Go(func() { s.l, s.err = t.open(c, name).Campaign(ctx, []byte(value)) })
	return s
}

// elect campaigns where nobody is in the way.
func (t poll) elect(c *coord.Client, value string) subject.Leadership {
	l, err := t.open(c, name).Campaign(t.ctx, []byte(value))
	if err != nil {
		t.Fatalf("Campaign: %v", err)
	}
	return l
}

// elected waits for the Campaign to succeed.
func (t poll) elected(s *campaign, what string) subject.Leadership {
	if !t.within(t.patience()+t.h.Expiry, s.over) {
		t.Fatalf("%s: Campaign does not return", what)
	}
	if s.err != nil {
		t.Fatalf("%s: Campaign: %v", what, s.err)
	}
	return s.l
}

// stillStands wants a Campaign not to have returned.
func (t poll) stillStands(s *campaign, what string) {
	if ended(s.over) {
		t.Fatalf("%s: Campaign has returned %s; want it blocked", what, errorOf(s.err))
	}
}

func (t poll) resign(l subject.Leadership) {
	if err := l.Release(t.ctx); err != nil {
		t.Fatalf("Resign: %v", err)
	}
}

func (t poll) proclaim(l subject.Leadership, value string) {
	if err := l.Proclaim(t.ctx, []byte(value)); err != nil {
		t.Fatalf("Proclaim: %v", err)
	}
}

// candidates waits until a third client sees n of them, the leader included.
func (t poll) candidates(n int) []driver.Node { return t.entries(n) }

// leads returns nil if the client is shown a leader with this value.
func (t poll) leads(c *coord.Client, value string) func() error {
	return func() error {
		got, err := t.open(c, name).Leader(t.ctx)
		if err != nil || string(got.Value) != value {
			return fmt.Errorf("the leader shows as %q, %s; want %q", got.Value, errorOf(err), value)
		}
		return nil
	}
}

// deposed wants a leadership to have ended for a reason.
func (t poll) deposed(l subject.Leadership, what string, why error) {
	if !t.within(t.patience()+t.h.TTL, l.Done()) {
		t.Fatalf("%s: the leadership's Done does not close", what)
	}
	for _, err := range []error{l.Err(), context.Cause(l.Context())} {
		if !errors.Is(err, coord.ErrNotHeld) || !errors.Is(err, why) {
			t.Fatalf("%s: the leadership ended with %s; want ErrNotHeld and %q", what, errorOf(err), why)
		}
	}
}

func electsInOrder(t poll) {
	var writes atomic.Int64 // to an entry that there is
	a := t.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		if c.op == "Update" {
			writes.Add(1)
		}
		return next(ctx)
	})
	b, c := t.Client(), t.Client()
	l := t.elect(a, "first")
	if n := writes.Load(); n != 0 {
		t.Fatalf("a candidate that has nobody ahead has written to its entry %d times; want to have joined with all that there is to say", n)
	}
	var line []*campaign
	for i, client := range []*coord.Client{a, a, b, c, c, b} {
		line = append(line, t.standing(t.ctx, client, fmt.Sprint(i), i+2))
	}
	nodes := t.candidates(len(line) + 1)
	for i, s := range line {
		t.resign(l)
		next := t.elected(s, fmt.Sprintf("the candidate at place %d", i))
		if next.Token() != nodes[i+1].Token || next.Token() <= l.Token() {
			t.Fatalf("the candidate at place %d was elected with token %d after %d; its entry has %d", i, next.Token(), l.Token(), nodes[i+1].Token)
		}
		for j := i + 1; j < len(line); j++ {
			t.stillStands(line[j], fmt.Sprintf("the candidate at place %d while %d leads", j, i))
		}
		if err := t.leads(b, fmt.Sprint(i))(); err != nil {
			t.Fatalf("after the Campaign of the candidate at place %d: %v", i, err)
		}
		l = next
	}
	t.resign(l)
	t.candidates(0)
}

// campaignsAgainstItself: who leads would wait for itself for ever.
func campaignsAgainstItself(t poll) {
	a, b := t.Client(), t.Client()
	l := t.elect(a, "a")
	e := t.open(a, name)
	for _, campaign := range []func(context.Context, []byte) (subject.Leadership, error){e.Campaign, e.TryCampaign} {
		if _, err := campaign(l.Context(), []byte("again")); !errors.Is(err, coord.ErrInvalid) {
			t.Fatalf("a campaign under the leadership of the same election returned %s; want ErrInvalid", errorOf(err))
		}
	}
	other, err := t.open(a, "other").Campaign(l.Context(), nil)
	if err != nil {
		t.Fatalf("a campaign in another election, under a leadership: %v", err)
	}
	t.resign(other)
	next := t.standing(l.Context(), b, "b", 2) // of another client
	detached := context.WithoutCancel(l.Context())
	t.resign(l)
	if !t.within(t.patience(), next.over) || !errors.Is(next.err, context.Canceled) {
		t.Fatalf("a campaign under another client's leadership, which has ended, returned %s; want its ctx's error", errorOf(next.err))
	}
	if _, err := e.Campaign(l.Context(), nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("a campaign under a leadership that has ended returned %s; want its ctx's error", errorOf(err))
	}
	again, err := e.Campaign(detached, nil)
	if err != nil {
		t.Fatalf("a campaign with the values of a leadership that has ended: %v", err)
	}
	t.resign(again)
	t.empty()
}

// campaignsAfterLoss: what was lost nobody waits for.
func campaignsAfterLoss(t poll) {
	c := t.Client()
	l := t.elect(c, "v")
	t.removeNode(t.candidates(1)[0])
	t.deposed(l, "the leader whose entry was removed", coord.ErrRemoved)
	again, err := t.open(c, name).Campaign(context.WithoutCancel(l.Context()), nil)
	if err != nil {
		t.Fatalf("a campaign with the values of a leadership that was lost: %v", err)
	}
	t.resign(again)
	t.empty()
}

func tryCampaignLeavesNothing(t poll) {
	a, b := t.Client(), t.Client()
	l, err := t.open(a, name).TryCampaign(t.ctx, nil)
	if err != nil {
		t.Fatalf("TryCampaign where nobody leads: %v", err)
	}
	for range 5 {
		if _, err := t.open(b, name).TryCampaign(t.ctx, nil); !errors.Is(err, coord.ErrBusy) {
			t.Fatalf("TryCampaign where somebody leads returned %s; want ErrBusy", errorOf(err))
		}
	}
	t.settles(func() error { t.candidates(1); return nil })
	t.resign(l)
	t.resign(t.elect(b, ""))
	t.empty()
}

func revokesLeader(t poll) {
	l := t.elect(t.Client(), "v")
	operator := t.Client()
	var err error
	asked := t.Go(func() { err = t.open(operator, name).Revoke(t.ctx, l.Token(), "maintenance") })
	if r, err := l.Revoked(t.ctx); err != nil || r.Reason != "maintenance" {
		t.Fatalf("Revoked returned %+v, %s; want the reason of who asked", r, errorOf(err))
	}
	if err := t.leads(operator, "v")(); err != nil {
		t.Fatalf("asked to step down: %v", err)
	}
	t.resign(l)
	t.Trial.join("Revoke, when the leader has resigned", asked)
	if err != nil {
		t.Fatalf("Revoke, when the leader has resigned, returned %q", err)
	}
}
