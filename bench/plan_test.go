package main

import (
	"slices"
	"strings"
	"testing"

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
		{work.Contention(2), plan{pairs: 3}, 9},
		{work.Contention(2), plan{pairs: 2, short: true}, 2},
		{work.Worn(), plan{pairs: 3}, 1},
	} {
		if got := c.p.turns(c.of); got != c.want {
			t.Errorf("%s has %d turns of %+v; want %d", c.of.Name, got, c.p, c.want)
		}
	}
}
