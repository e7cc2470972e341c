package consul

import (
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
)

func TestLedger(t *testing.T) {
	var l ledger
	node := func(id string, token, version uint64) driver.Node {
		return driver.Node{Dir: "d", ID: id, Session: "s", Token: token, Version: version}
	}
	shown := func(nodes ...driver.Node) bool {
		t.Helper()
		return l.page("d").shown("s", append(nodes, driver.Node{ID: "0", Session: "another", Token: 1}))
	}
	check := func(what string, got, want bool) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v; want %v", what, got, want)
		}
	}
	check("nothing to go by", l.page("d").empty(), true)
	l.wrote(node("0", 10, 10))
	l.wrote(node("1", 12, 12))
	check("something to go by", l.page("d").empty(), false)
	check("another directory", l.page("e").empty(), true)
	check("both", shown(node("0", 10, 10), node("1", 12, 12)), true)
	check("one is missing", shown(node("0", 10, 10)), false)
	check("both are missing", shown(), false)
	check("one made since", shown(node("0", 10, 10), node("1", 12, 12), node("2", 14, 14)), true)
	check("one updated since", shown(node("0", 10, 10), node("1", 12, 15)), true)

	l.wrote(node("0", 10, 16))
	check("before the update", shown(node("0", 10, 10), node("1", 12, 12)), false)
	check("after the update", shown(node("0", 10, 16), node("1", 12, 12)), true)
	if v := l.version(node("0", 10, 10)); v != 16 {
		t.Errorf("the version is %d; want 16", v)
	}
	if v := l.version(node("0", 9, 9)); v != 9 {
		t.Errorf("the version of another node is %d; want 9", v)
	}

	l.dropped("d", "1", 11)
	check("an earlier node of the slot is gone", shown(node("0", 10, 16), node("1", 12, 12)), true)
	l.dropped("d", "1", 12)
	check("before it was deleted", shown(node("0", 10, 16), node("1", 12, 12)), false)
	check("after it was deleted", shown(node("0", 10, 16)), true)
	l.wrote(node("1", 20, 20))
	check("before it was made again", shown(node("0", 10, 16), node("1", 12, 12)), false)
	check("after it was made again", shown(node("0", 10, 16), node("1", 20, 20)), true)
	l.abandoned("d", "2", 25)
	check("before a node that nobody knew of was abandoned", shown(node("0", 10, 16), node("1", 20, 20), node("2", 22, 22)), false)
	check("after that", shown(node("0", 10, 16), node("1", 20, 20)), true)
	l.dropped("d", "0", 10)
	l.dropped("d", "1", 20)
	check("nothing is left", l.page("d").empty() && len(l.live) == 0, true)
}
