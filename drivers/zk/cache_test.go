package zk

import (
	"fmt"
	"testing"
)

func remember(data string) remembered { return remembered{data: []byte(data)} }

// recalled is what the memory has for nodes at a state: data, or "-".
func recalled(d *directory, at stamp, stems ...string) (got []string) {
	var names []name
	for _, s := range stems {
		names = append(names, name{stem: s})
	}
	known, missing := d.recall(names, at, nil)
	gaps := make(map[int]bool)
	for _, i := range missing {
		gaps[i] = true
	}
	for i, r := range known {
		if gaps[i] {
			got = append(got, "-")
		} else {
			got = append(got, string(r.data))
		}
	}
	return got
}

func TestMemoryFollowsTheDirectory(t *testing.T) {
	d := newCache().directory("d")
	at := stamp{parent: 10, version: 3}
	want := func(what string, at stamp, want ...string) {
		t.Helper()
		if got := recalled(d, at, "a", "b"); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v; want %v", what, got, want)
		}
	}
	want("nothing yet", at, "-", "-")
	d.learn("a", remember("A"), at)
	want("one known", at, "A", "-")
	want("a server that is behind", stamp{10, 2, 0}, "A", "-")
	d.learn("b", remember("old"), stamp{10, 2, 0}) // read by that server
	want("what it says does not count", at, "A", "-")
	d.learn("b", remember("B"), at)

	d.updated("a", []byte("A2"), stamp{10, 4, 0})
	want("an update of our own", stamp{10, 4, 0}, "A2", "B")
	d.updated("b", []byte("B2"), stamp{10, 6, 0})
	want("one after another's", stamp{10, 6, 0}, "-", "-")
	d.learn("a", remember("A3"), stamp{10, 6, 0})
	want("a directory made again", stamp{20, 0, 0}, "-", "-")
	d.learn("a", remember("A4"), stamp{10, 6, 0})
	want("news of its predecessor", stamp{20, 0, 0}, "-", "-")
}

// What is about to be made is known before it is.
func TestMemoryOfWhatIsExpected(t *testing.T) {
	d := newCache().directory("d")
	d.expect("a", []byte("A")) // of a directory that is not known
	if got := recalled(d, stamp{10, 3, 0}, "a"); got[0] != "-" {
		t.Errorf("recalled %v", got)
	}
	d.expect("b", []byte("B"))
	if got := recalled(d, stamp{10, 3, 0}, "b"); got[0] != "B" {
		t.Errorf("recalled %v", got)
	}
	if got := recalled(d, stamp{10, 4, 0}, "b"); got[0] != "-" { // somebody has updated something
		t.Errorf("recalled %v", got)
	}
}

// The czxid has to be known where it is the number.
func TestMemoryOfAnExhaustedDirectory(t *testing.T) {
	d := newCache().directory("d")
	at := stamp{10, 3, 0}
	recalled(d, at, "")
	d.learn("a", remember("A"), at)
	d.learn("b", remembered{czxid: 12}, at)
	_, missing := d.recall([]name{{stem: "a", sequence: exhausted}, {stem: "b", sequence: exhausted}}, at, nil)
	if len(missing) != 1 || missing[0] != 0 {
		t.Errorf("missing are %v", missing)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	c := newCache()
	at := stamp{parent: 1}
	for i := range 3 * mostDirs {
		c.directory(fmt.Sprint(i)).learn("a", remember("A"), at)
	}
	if n := len(c.dirs); n > mostDirs {
		t.Errorf("%d directories are remembered; want %d at most", n, mostDirs)
	}
	d := c.directory("d")
	for i := range 10_000 {
		stem := fmt.Sprint(i)
		recalled(d, at, stem)
		d.learn(stem, remember("A"), at)
	}
	if n := len(d.nodes); n > 2*spare {
		t.Errorf("%d nodes are remembered of a directory that never has more than one", n)
	}
	d.learn("large", remember(string(make([]byte, mostCached+1))), at)
	if got := recalled(d, at, "large"); got[0] != "-" {
		t.Error("large data are remembered")
	}
	d.learn("grows", remember("small"), at)
	d.updated("grows", make([]byte, mostCached+1), stamp{1, 1, 0})
	if got := recalled(d, stamp{1, 1, 0}, "grows"); got[0] != "-" {
		t.Error("large data are remembered after an update")
	}
}

// Who lists by name, and locks and unlocks, has the cache told of every node and
// asks it for none.
func TestMemoryOfWhatIsNeverRecalled(t *testing.T) {
	d := newCache().directory("d")
	at := stamp{10, 3, 0}
	recalled(d, at, "")
	for i := range 10_000 {
		d.expect(fmt.Sprint(i), []byte("A"))
	}
	if n := len(d.nodes); n > 2*spare {
		t.Errorf("%d nodes are remembered of a directory that had none", n)
	}
	// A long line is remembered as a whole.
	names := make([]name, 4*spare)
	for i := range names {
		names[i] = name{stem: fmt.Sprint("long", i)}
	}
	d.recall(names, at, nil)
	for _, n := range names {
		d.learn(n.stem, remember("A"), at)
	}
	if _, missing := d.recall(names, at, nil); len(missing) != 0 {
		t.Errorf("%d of %d nodes are forgotten", len(missing), len(names))
	}
}

// What this session has deleted it does not list again.
func TestMemoryOfWhatWasDeleted(t *testing.T) {
	f := start(t)
	s := f.open(long)
	f.create(s, "d", "bystander")
	_, err := s.List(within(t), "d")
	must(t, err)
	d := f.cache.directory("d")
	before := len(d.nodes)
	for range 8 {
		n, _, err := s.CreateList(within(t), "d", "0", nil)
		must(t, err)
		must(t, s.Delete(within(t), n))
	}
	if n := len(d.nodes); n != before {
		t.Errorf("%d nodes are remembered; want %d", n, before)
	}
}
