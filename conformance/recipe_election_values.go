package conformance

import (
	"fmt"
	"iter"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
)

// overwrite is what a caller does with a slice that is its own.
func overwrite(b []byte) {
	for i := range b {
		b[i] = 'x'
	}
}

// shows wants an observation, or a listing, to show a value, and writes over what it got.
func (t poll) shows(what string, value []byte, err error, want string) {
	if err != nil || string(value) != want {
		t.Fatalf("%s shows the value %q, %s; want %q, whatever callers do with slices that they gave or got",
			what, value, errorOf(err), want)
	}
	overwrite(value)
}

// valuesAreCopied writes over every value that a caller gave to a call which has returned,
// or got from one.
func valuesAreCopied(t poll) {
	a, third := t.Client(), t.Client()
	given := []byte("first")
	l, err := t.open(a, name).Campaign(t.ctx, given)
	if err != nil {
		t.Fatalf("Campaign: %v", err)
	}
	overwrite(given)
	waiter := t.standing(t.ctx, t.Client(), "waits", 2)
	var observers []func() (election.Observation, error, bool)
	for range 2 { // of one client
		next, stop := iter.Pull2(t.open(third, name).Observe(t.ctx))
		defer stop()
		observers = append(observers, next)
	}
	for _, value := range []string{"first", "second"} {
		if value == "second" {
			given = []byte(value)
			if err := l.Proclaim(t.ctx, given); err != nil {
				t.Fatalf("Proclaim: %v", err)
			}
			overwrite(given)
		}
		for range 2 {
			for _, c := range []*coord.Client{a, third} {
				t.valuesListed(c, value)
			}
			for one, err := range t.open(third, name).Observe(t.ctx) {
				t.shows("Observe, begun now,", one.Leader.Value, err, value)
				break
			}
		}
		for i, next := range observers {
			one, err, _ := next()
			t.shows(fmt.Sprintf("observer %d of a client", i), one.Leader.Value, err, value)
		}
	}
	t.resign(l)
	t.resign(t.elected(waiter, "the candidate"))
}

// valuesListed looks at the leader and the candidate behind it.
func (t poll) valuesListed(c *coord.Client, value string) {
	leader, err := t.open(c, name).Leader(t.ctx)
	t.shows("Leader", leader.Value, err, value)
	all, err := t.open(c, name).Candidates(t.ctx)
	if err != nil || len(all.Holders) != 1 || len(all.Waiters) != 1 {
		t.Fatalf("Candidates: %+v, %s; want a leader and a candidate", all, errorOf(err))
	}
	t.shows("Candidates", all.Holders[0].Value, nil, value)
	t.shows("Candidates", all.Waiters[0].Value, nil, "waits")
}

// sameLeaderAgain has a client resign and lead again while the observers are busy. The second
// node may have the key of the first; observers must be shown the second leadership.
func sameLeaderAgain(t poll) {
	a, c := t.Client(), t.Client()
	l := t.elect(a, "v")
	var all []*follower
	goOn := make(chan struct{})
	for range 2 {
		o := &follower{busy: goOn}
		t.observes(t.ctx, o, c)
		all = append(all, o)
	}
	t.shown(all, "v")
	t.resign(l)
	again := t.elect(a, "v")
	close(goOn)
	t.Eventually(t.patience(), func() error {
		for i, o := range all {
			if token := o.newest(); token != again.Token() {
				return fmt.Errorf("observer %d was last shown the leader with token %d; want %d, of the same client, which has led before",
					i, token, again.Token())
			}
		}
		return nil
	})
	t.allPossible(all)
	t.resign(again)
}

// newest is the token of the leader that was shown last.
func (o *follower) newest() (token uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.seen {
		if !s.Vacant {
			token = s.Leader.Token
		}
	}
	return token
}

// runKeepsValue writes over the value that Run was given, while its function runs.
func runKeepsValue(t poll) {
	given := []byte("first")
	r := t.runsWith(t.ctx, t.Client(), given, t.h.TTL/50, t.h.TTL/10)
	third := t.Client()
	for range 2 {
		one := r.begins("a Run where nobody leads")
		leader, err := t.open(third, name).Leader(t.ctx)
		t.shows("Leader, while a Run's function runs,", leader.Value, err, "first")
		overwrite(given)
		one.returns <- election.ErrStepDown
	}
	last := r.begins("a Run that stood again")
	last.returns <- nil
	r.ends("a Run whose function has returned nil")
	t.empty()
}
