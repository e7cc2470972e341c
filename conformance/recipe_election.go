package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/recipes/election"
)

// electionDir is where the candidates of a trial stand.
const electionDir = "election:" + name

// electionRules are the promises of the election to those who stand in it. What
// it shows to those who follow is in recipe_election_observe.go.
func electionRules() []Rule {
	return []Rule{
		{
			ID:    "K1",
			Text:  "One leads, and candidates are elected in the order in which they came, with rising tokens.",
			Cases: []Case{{Name: "of one process and of several", Check: electsInOrder}},
		},
		{
			ID:   "K2",
			Text: "TryCampaign does not wait, and leaves no candidate when it fails.",
			Cases: []Case{
				{Name: "led by another", Check: tryCampaignLeavesNothing},
			},
		},
		{
			ID:    "K3",
			Text:  "The leader and the candidates are listed with who they are and their values, and no leader where there is none.",
			Cases: []Case{{Name: "from a third client", Check: candidatesShow}},
		},
		{
			ID:    "K4",
			Text:  "Whoever is asked to step down hears of it, and loses nothing.",
			Cases: []Case{{Name: "a leader", Check: revokesLeader}},
		},
	}
}

// campaign is a Campaign under way.
type campaign struct {
	l    *election.Leadership
	err  error
	over <-chan struct{}
}

// standing begins a Campaign and returns when it is in line as the one that makes
// it line entries long.
func (t *Trial) standing(ctx context.Context, c *coord.Client, value string, line int) *campaign {
	s := t.stand(ctx, c, value)
	t.candidates(line)
	return s
}

// stand begins a Campaign.
func (t *Trial) stand(ctx context.Context, c *coord.Client, value string) *campaign {
	s := &campaign{}
	s.over = t.Go(func() { s.l, s.err = election.New(c, name).Campaign(ctx, []byte(value)) })
	return s
}

// elect campaigns where nobody is in the way.
func (t *Trial) elect(c *coord.Client, value string) *election.Leadership {
	l, err := election.New(c, name).Campaign(t.ctx, []byte(value))
	if err != nil {
		t.Fatalf("Campaign: %v", err)
	}
	return l
}

// elected waits for the Campaign to succeed.
func (t *Trial) elected(s *campaign, what string) *election.Leadership {
	if !t.within(t.patience()+t.h.Expiry, s.over) {
		t.Fatalf("%s: Campaign does not return", what)
	}
	if s.err != nil {
		t.Fatalf("%s: Campaign: %v", what, s.err)
	}
	return s.l
}

// notElected waits for the Campaign to fail in the way given.
func (t *Trial) notElected(s *campaign, what string, want error) {
	if !t.within(t.patience(), s.over) {
		t.Fatalf("%s: Campaign does not return; want an error that Is %q", what, want)
	}
	if !errors.Is(s.err, want) {
		t.Fatalf("%s: Campaign returned the error %s; want one that Is %q", what, errorOf(s.err), want)
	}
}

// stillStands wants a Campaign not to have returned.
func (t *Trial) stillStands(s *campaign, what string) {
	if ended(s.over) {
		t.Fatalf("%s: Campaign has returned %v, %s; want it blocked", what, s.l, errorOf(s.err))
	}
}

func (t *Trial) resign(l *election.Leadership) {
	if err := l.Resign(t.ctx); err != nil {
		t.Fatalf("Resign: %v", err)
	}
}

func (t *Trial) proclaim(l *election.Leadership, value string) {
	if err := l.Proclaim(t.ctx, []byte(value)); err != nil {
		t.Fatalf("Proclaim: %v", err)
	}
}

// candidates waits until a third client sees n of them, the leader included.
func (t *Trial) candidates(n int) (nodes []driver.Node) {
	t.Eventually(t.patience(), func() error {
		if nodes = t.Nodes(electionDir); len(nodes) != n {
			return fmt.Errorf("the election has %d entries; want %d", len(nodes), n)
		}
		return nil
	})
	return nodes
}

// leads returns nil if the client is shown a leader with this value.
func (t *Trial) leads(c *coord.Client, value string) func() error {
	return func() error {
		got, err := election.New(c, name).Leader(t.ctx)
		if err != nil || string(got.Value) != value {
			return fmt.Errorf("the leader shows as %q, %s; want %q", got.Value, errorOf(err), value)
		}
		return nil
	}
}

// deposed wants a leadership to have ended for a reason.
func (t *Trial) deposed(l *election.Leadership, what string, why error) {
	if !t.within(t.patience()+t.h.TTL, l.Done()) {
		t.Fatalf("%s: the leadership's Done does not close", what)
	}
	for _, err := range []error{l.Err(), context.Cause(l.Context())} {
		if !errors.Is(err, coord.ErrNotHeld) || !errors.Is(err, why) {
			t.Fatalf("%s: the leadership ended with %s; want ErrNotHeld and %q", what, errorOf(err), why)
		}
	}
}

func electsInOrder(t *Trial) {
	a, b, c := t.Client(), t.Client(), t.Client()
	l := t.elect(a, "first")
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

func tryCampaignLeavesNothing(t *Trial) {
	a, b := t.Client(), t.Client()
	l, err := election.New(a, name).TryCampaign(t.ctx, nil)
	if err != nil {
		t.Fatalf("TryCampaign where nobody leads: %v", err)
	}
	for range 5 {
		if _, err := election.New(b, name).TryCampaign(t.ctx, nil); !errors.Is(err, coord.ErrBusy) {
			t.Fatalf("TryCampaign where somebody leads: %s; want ErrBusy", errorOf(err))
		}
	}
	t.candidates(1)
	t.resign(l)
	t.resign(t.elect(b, ""))
}

func candidatesShow(t *Trial) {
	a, b, third := t.Client(), t.Client(), t.Client()
	if _, err := election.New(third, name).Leader(t.ctx); !errors.Is(err, election.ErrNoLeader) {
		t.Fatalf("Leader where nobody stands returned %s; want ErrNoLeader", errorOf(err))
	}
	l := t.elect(a, "a\nof two lines")
	s := t.standing(t.ctx, b, "b", 2)
	all, err := election.New(third, name).Candidates(t.ctx)
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
	t.resign(l)
	t.resign(t.elected(s, "the candidate"))
}

func revokesLeader(t *Trial) {
	l := t.elect(t.Client(), "v")
	operator := t.Client()
	var err error
	asked := t.Go(func() { err = election.New(operator, name).Revoke(t.ctx, l.Token(), "maintenance") })
	if r, err := l.Revoked(t.ctx); err != nil || r.Reason != "maintenance" {
		t.Fatalf("Revoked returned %+v, %s", r, errorOf(err))
	}
	if err := t.leads(operator, "v")(); err != nil {
		t.Fatalf("asked to step down: %v", err)
	}
	t.resign(l)
	if !t.within(t.patience(), asked) || err != nil {
		t.Fatalf("Revoke, when the leader has resigned: %s", errorOf(err))
	}
}
