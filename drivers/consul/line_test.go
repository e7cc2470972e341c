package consul

import (
	"testing"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
)

func lineOf(nodes ...driver.Node) (*line, *wait) {
	l := &line{prefix: "ns/d/", spots: make(map[string]*spot), waits: make(map[*wait]struct{})}
	w := newWait(l.prefix, someSession, nodes)
	l.add(w, 10)
	for _, t := range w.targets {
		t.due = true
	}
	return l, w
}

func waitedFor(id string, token uint64) driver.Node {
	return driver.Node{Dir: "d", ID: id, Key: "ns/d/" + someSession + "-" + id, Token: token, Version: token}
}

func entryFor(n driver.Node, created, changed uint64) *api.KVPair {
	return &api.KVPair{Key: n.Key, Session: someSession, CreateIndex: created, ModifyIndex: changed}
}

// What a leader says is believed only if it cannot be older than the node.
func TestJudge(t *testing.T) {
	n := waitedFor("0", 100)
	free := entryFor(n, 100, 120)
	free.Session = ""
	tests := []struct {
		what string
		kv   *api.KVPair
		a    answer
		want verdict
	}{
		{"unchanged", entryFor(n, 100, 100), answer{at: 100, asked: 11}, there},
		{"updated", entryFor(n, 100, 120), answer{at: 120, asked: 11}, there},
		{"set free", free, answer{at: 120, asked: 11}, gone},
		{"another of its name", entryFor(n, 130, 130), answer{at: 130, asked: 11}, gone},
		{"deleted", nil, answer{at: 130, asked: 11}, gone},
		{"not there in an answer from before it was made", nil, answer{at: 90, asked: 11}, unsure},
		{"an earlier one in such an answer", entryFor(n, 80, 80), answer{at: 80, asked: 11}, unsure},
		{"not there in an answer to a question from before the wait", nil, answer{at: 90, asked: 9}, there},
		{"likewise, deleted", nil, answer{at: 130, asked: 9}, gone},
		{"not there, for sure", nil, answer{at: 90, asked: 11, consistent: true}, gone},
		{"another that is older, for sure", entryFor(n, 80, 80), answer{at: 80, asked: 11, consistent: true}, gone},
		{"not there for sure before the wait", nil, answer{at: 90, asked: 9, consistent: true}, there},
	}
	for _, tt := range tests {
		_, w := lineOf(n)
		if got := w.targets[0].judge(tt.kv, tt.a); got != tt.want {
			t.Errorf("%s: judged %v; want %v", tt.what, got, tt.want)
		}
	}
}

func wantTold(t *testing.T, what string, w *wait, index int) {
	t.Helper()
	select {
	case o := <-w.result:
		if o.index != index || o.err != nil {
			t.Errorf("%s: told %+v; want index %d", what, o, index)
		}
	default:
		if index >= 0 {
			t.Errorf("%s: not told", what)
		}
	}
}

const nothing = -1

func TestLineSeesNamesakes(t *testing.T) {
	old, recent := waitedFor("0", 100), waitedFor("0", 200)
	l, w := lineOf(old)
	later := newWait(l.prefix, someSession, []driver.Node{recent})
	l.add(later, 11)
	wantTold(t, "a later node of the name is known", w, 0)
	wantTold(t, "the later one", later, nothing)

	l, w = lineOf(recent)
	earlier := newWait(l.prefix, someSession, []driver.Node{old})
	l.add(earlier, 11)
	wantTold(t, "an earlier node", earlier, 0)
	wantTold(t, "the later one", w, nothing)
	l.drop(w)
	l.drop(earlier)
	if len(l.spots) > 0 || len(l.waits) > 0 {
		t.Errorf("left: %d keys, %d waits", len(l.spots), len(l.waits))
	}
}

// A list shows what is gone, and a wait is told of one of these.
func TestLineTells(t *testing.T) {
	a, b, c := waitedFor("0", 100), waitedFor("1", 50), waitedFor("2", 40)
	l, w := lineOf(a, b, c)
	l.seeAll(map[string]*api.KVPair{c.Key: entryFor(c, 40, 40)}, answer{at: 300, asked: 11})
	wantTold(t, "two are gone", w, 0)

	l, w = lineOf(a, b, c)
	l.seeAll(map[string]*api.KVPair{a.Key: entryFor(a, 100, 100), b.Key: entryFor(b, 50, 50)}, answer{at: 300, asked: 11})
	wantTold(t, "the last is gone", w, 2)

	// An answer of before it came says nothing of the first.
	l, w = lineOf(a, b)
	l.seeAll(nil, answer{at: 60, asked: 11})
	if o := <-w.result; o.index != 1 || o.err != nil {
		t.Errorf("told %+v; want index 1", o)
	}

	l, w = lineOf(a, b, c)
	l.removed(b)
	wantTold(t, "removed by this process", w, 1)
	l.removed(c)
	wantTold(t, "told once", w, nothing)
}

// Eyes are for the nodes with the lowest tokens, of those that are due.
func TestLineShowsWhatToWatch(t *testing.T) {
	l, w := lineOf(waitedFor("0", 100), waitedFor("1", 50))
	if got := w.likeliest(); got.token != 50 {
		t.Errorf("the likeliest has token %d", got.token)
	}
	first := l.next()
	if first == nil || first.newest != 50 {
		t.Fatalf("watches %+v first", first)
	}
	first.eye = true
	if next := l.next(); next == nil || next.newest != 100 || !l.blind() || !l.hasty() {
		t.Errorf("watches %+v next", next)
	}
	w.targets[0].due = false
	if s := l.next(); s != nil || l.blind() || l.hasty() {
		t.Errorf("watches %+v, which is not due", s)
	}
	w.tell(outcome{})
	if wanted, _ := first.wanted(); wanted {
		t.Error("watches for a wait that has ended")
	}
}

// One's own nodes get eyes only where there are enough of them.
func TestLineWatchesOthersFirst(t *testing.T) {
	l, w := lineOf(waitedFor("0", 100))
	w.targets[0].own = true
	if l.next() == nil {
		t.Error("there are eyes left for one's own node")
	}
	var nodes []driver.Node
	for i := range uint64(maxLineEyes) {
		nodes = append(nodes, waitedFor(string(rune('a'+i)), 200+i))
	}
	others := newWait(l.prefix, "another", nodes)
	l.add(others, 12)
	others.allDue()
	for i := range uint64(maxLineEyes) {
		s := l.next()
		if s == nil || s.newest != 200+i {
			t.Fatalf("watches %+v", s)
		}
		s.eye = true
		l.eyes++
	}
	if s := l.next(); s != nil || !l.blind() || l.hasty() {
		t.Errorf("watches %+v; blind: %v, hasty: %v", s, l.blind(), l.hasty())
	}
}
