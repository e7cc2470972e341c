package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/coordkit/coordkit/bench/report"
	"github.com/coordkit/coordkit/bench/work"
)

func TestBegins(t *testing.T) {
	for _, c := range []struct {
		name string
		list []string
		want bool
	}{
		{"drain-20", nil, true},
		{"drain-20", []string{"drain"}, true},
		{"drain-20", []string{"keys", "drain-20"}, true},
		{"contention-100", []string{"contention-1"}, false},
		{"keys-64", []string{"drain"}, false},
	} {
		if got := begins(c.name, c.list); got != c.want {
			t.Errorf("begins(%q, %q) = %v", c.name, c.list, got)
		}
	}
}

// Nobody always comes first, or after the same one.
func TestOrderOfTurns(t *testing.T) {
	sides := []string{"A", "B", "C"}
	var got []string
	for turn := range 4 {
		got = append(got, strings.Join(order(sides, turn), ""))
	}
	if want := []string{"ABC", "CBA", "BCA", "ACB"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if n := len(order([]string(nil), 2)); n != 0 {
		t.Errorf("%d of none", n)
	}
}

func TestWhatRunsLeaveOut(t *testing.T) {
	count := func(p plan, members int) (n int) {
		for _, c := range work.Cases(0) {
			if p.wants(c, members) {
				n++
			}
		}
		return n
	}
	all, short, three := count(plan{}, 1), count(plan{short: true}, 1), count(plan{}, 3)
	if all != len(work.Cases(0)) || short == 0 || short >= all || three == 0 || three >= all {
		t.Errorf("of %d cases a whole run has %d, a short one %d, and one on three members %d", len(work.Cases(0)), all, short, three)
	}
	if short != len(mainCases) {
		t.Errorf("a short run has %d cases; there are %d main ones", short, len(mainCases))
	}
	if n := count(plan{short: true, cases: []string{"failover"}}, 3); n != 1 {
		t.Errorf("%d cases are called failover", n)
	}
}

func TestTurns(t *testing.T) {
	for _, c := range []struct {
		of   work.Case
		p    plan
		want int
	}{
		{work.Contention(8), plan{pairs: 3}, 3},
		{work.Contention(2), plan{pairs: 3}, 6},
		{work.Contention(2), plan{pairs: 2, short: true}, 2},
		{work.Worn(), plan{pairs: 3}, 1},
	} {
		if got := c.p.turns(c.of); got != c.want {
			t.Errorf("%s has %d turns of %+v; want %d", c.of.Name, got, c.p, c.want)
		}
	}
}

// With TLS the requests cannot be read.
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		p    plan
		tls  bool
		want bool
	}{
		{plan{}, false, true},
		{plan{short: true}, false, false},
		{plan{short: true, cases: []string{"keys-64"}}, false, true},
		{plan{}, true, false},
		{plan{short: true, cases: []string{"keys-64"}}, true, false},
	} {
		if got := c.p.counts(work.Keys(64), report.Network{TLS: c.tls}); got != c.want {
			t.Errorf("%+v, TLS %v: %v, want %v", c.p, c.tls, got, c.want)
		}
	}
}

func TestSplit(t *testing.T) {
	for list, want := range map[string][]string{
		"":          nil,
		"zk":        {"zk"},
		"zk,etcd":   {"zk", "etcd"},
		"zk,,etcd,": {"zk", "etcd"},
		"coordkit,api.Lock, session reused,floor": {"coordkit", "api.Lock, session reused", "floor"},
	} {
		if got := split(list); !slices.Equal(got, want) {
			t.Errorf("split(%q) = %q, want %q", list, got, want)
		}
	}
}

func TestCommand(t *testing.T) {
	got := command([]string{"-sides", "api.Lock, session reused", "-short"})
	if want := "go run . -sides 'api.Lock, session reused' -short"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// What does not exist is told before servers are started, and not left out without a word.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		p    plan
		rest []string
		want string // in the error; none if empty
	}{
		{p: plan{stores: []string{"zk"}}},
		{p: plan{stores: []string{"zk"}, cases: []string{"drain", "keys-64"}, sides: []string{"coordkit", "zk."}}},
		{p: plan{stores: []string{"consul"}, sides: []string{"api.Lock, session reused"}}},
		{p: plan{stores: []string{"zookeeper"}}, want: `-stores "zookeeper"`},
		{p: plan{stores: []string{"zk"}, cases: []string{"drian"}}, want: `-cases "drian"`},
		{p: plan{stores: []string{"zk"}, sides: []string{"Mutex"}}, want: `-sides "Mutex"`},
		{p: plan{stores: []string{"zk"}}, rest: []string{"session"}, want: "session"},
		{p: plan{stores: []string{"etcd", "zk"}, sides: []string{"Mutex"}}, want: "on zk"},
		{p: plan{stores: []string{"zk"}, networks: []report.Network{{RTT: 1}, {RTT: 1, TLS: true}}}},
		{p: plan{stores: []string{"zk"}, networks: []report.Network{{RTT: 1}, {}, {RTT: 1}}}, want: "-networks: 1ms is there twice"},
		{want: "-stores is empty"},
	} {
		c.p.members = []int{1}
		if c.p.networks == nil {
			c.p.networks = []report.Network{{}}
		}
		err := c.p.check(c.rest)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v, %q: %v, want %q", c.p, c.rest, err, c.want)
		}
	}
	if err := (plan{stores: []string{"zk"}}).check(nil); err == nil || !strings.Contains(err.Error(), "-members is empty") {
		t.Errorf("without members: %v", err)
	}
	if err := (plan{stores: []string{"zk"}, members: []int{1}}).check(nil); err == nil || !strings.Contains(err.Error(), "-networks is empty") {
		t.Errorf("without networks: %v", err)
	}
}
