package testserver

import "testing"

func TestAgreedLeader(t *testing.T) {
	down := view{err: errNotRunning}
	lost := view{}
	leads := func(term string) view { return view{leads: true, follows: term} }
	follows := func(term string) view { return view{follows: term} }
	for _, c := range []struct {
		name  string
		views []view
		want  int // -1: none
	}{
		{"alone", []view{leads("term 0")}, 0},
		{"all agree", []view{follows("term 5"), leads("term 5"), follows("term 5")}, 1},
		{"one is down", []view{down, leads("term 5"), follows("term 5")}, 1},
		{"one is lost", []view{lost, leads("term 5"), follows("term 5")}, 1},
		{"no answer from the leader", []view{follows("term 5"), down, follows("term 5")}, -1},
		{"no majority", []view{down, leads("term 5"), down}, -1},
		{"a majority in which one is lost", []view{lost, leads("term 5"), down}, -1},
		{"none elected", []view{lost, lost, lost}, -1},
		{"an old leader wakes", []view{leads("term 4"), leads("term 5"), follows("term 5")}, 1},
		{"another term", []view{leads("term 6"), follows("term 5"), down}, -1},
		{"all down", []view{down, down, down}, -1},
	} {
		got, ok := agreedLeader(c.views)
		if !ok {
			got = -1
		}
		if got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}
