package zk

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
)

// rolled is a directory that only exists here, and what was listed of it.
type rolled struct {
	*testing.T
	conn *conn
	roll *roll
	stat gozk.Stat

	names []string // what there is, in no order
}

// key is what is compared of a node.
type key struct {
	name string
	seq  uint64
}

func keys(nodes []driver.Node) (list []key) {
	for _, n := range nodes {
		_, base := cut(n.Key)
		list = append(list, key{base, n.Seq})
	}
	return list
}

func newRolled(t *testing.T) *rolled {
	return &rolled{T: t, conn: &conn{space: "/n"}, roll: &newDirectory(0).roll, stat: gozk.Stat{Czxid: 10, Pzxid: 10}}
}

func (r *rolled) create(session int64, sequence int) string {
	r.stat.Pzxid++
	n := fmt.Sprintf("%s7-%010d", slotPrefix(formatSession(session), "0"), sequence)
	r.names = append(r.names, n)
	return n
}

func (r *rolled) remove(i int) {
	r.stat.Pzxid++
	r.names = slices.Delete(r.names, i, i+1)
}

// want wants a list to be what its names say.
func (r *rolled) want(ls listing) []driver.Node {
	r.Helper()
	var want []key
	for _, base := range ls.names {
		if n, ok := parseName(base); ok {
			seq, _ := number(ls.stat.Czxid, n.sequence)
			want = append(want, key{base, seq})
		}
	}
	slices.SortFunc(want, func(a, b key) int { return int(a.seq) - int(b.seq) })
	nodes, ok := r.roll.call(r.conn, "d", ls)
	if !ok || !slices.Equal(keys(nodes), want) {
		r.Fatalf("%v were listed as %v, %t", want, keys(nodes), ok)
	}
	return nodes
}

func (r *rolled) list() listing {
	rand.Shuffle(len(r.names), func(i, j int) { r.names[i], r.names[j] = r.names[j], r.names[i] })
	return listing{names: slices.Clone(r.names), stat: r.stat}
}

// Whatever happens between lists, and in whatever order they come, each says
// what it was made of, and goes on to say so.
func TestRollOfAnything(t *testing.T) {
	for range 300 {
		r := newRolled(t)
		r.names = []string{"readme", "x", "an-0000000001", "0123456789abcdef-0-7-1"}
		var earlier []listing
		var given [][]driver.Node
		var said [][]key
		sequence := 0
		for range 60 {
			for range rand.IntN(4) {
				sequence += 1 + rand.IntN(2) // somebody may come and go between two lists
				r.create(1+rand.Int64N(3), sequence)
			}
			switch rand.IntN(6) {
			case 0: // somebody gives up
				if len(r.names) > 4 {
					r.remove(rand.IntN(len(r.names)))
				}
			case 1: // the directory is removed and made again
				if rand.IntN(10) == 0 {
					r.names, sequence = nil, 0
					r.stat.Czxid, r.stat.Pzxid = r.stat.Pzxid+1, r.stat.Pzxid+1
				}
			default: // the first is served
				first := ""
				for _, n := range r.names {
					if _, ok := parseName(n); ok && (first == "" || n[len(n)-sequenceLength:] < first[len(first)-sequenceLength:]) {
						first = n
					}
				}
				if first != "" {
					r.remove(slices.Index(r.names, first))
				}
			}
			ls := r.list()
			earlier = append(earlier, ls)
			if rand.IntN(4) == 0 { // a server that is behind
				ls = earlier[rand.IntN(len(earlier))]
			}
			nodes := r.want(ls)
			given, said = append(given, nodes), append(said, keys(nodes))
		}
		for i := range given {
			if !slices.Equal(keys(given[i]), said[i]) {
				t.Fatalf("what was listed as %v has become %v", said[i], keys(given[i]))
			}
		}
	}
}

// What is left of a long line is not copied to be listed.
func TestRollCopiesNothing(t *testing.T) {
	r := newRolled(t)
	for i := range 1000 {
		r.create(int64(1+i%20), i)
	}
	r.want(r.list())
	slices.Sort(r.names)
	r.remove(slices.IndexFunc(r.names, func(n string) bool { return n[len(n)-sequenceLength:] == "0000000000" }))
	r.create(1, 1000)
	second := r.want(r.list())
	third := r.want(r.list())
	if &second[0] != &third[0] {
		t.Error("what has not changed was copied")
	}
	r.create(1, 1001)
	if fourth := r.want(r.list()); &third[0] != &fourth[0] {
		t.Error("who has come made others be copied")
	}
}

// Two names of one sequence say that one is foreign, and not which; and where
// the sequence is exhausted they say nothing.
func TestRollThatDoesNotTell(t *testing.T) {
	r := newRolled(t)
	a := r.create(1, 5)
	r.want(r.list())
	b := r.create(2, 5)
	for range 2 {
		if nodes, ok := r.roll.call(r.conn, "d", r.list()); ok {
			t.Errorf("listed %v", keys(nodes))
		}
	}
	r.roll.strike(b)
	for range 2 {
		if nodes, ok := r.roll.call(r.conn, "d", r.list()); !ok || len(nodes) != 1 || keys(nodes)[0].name != a {
			t.Errorf("listed %v, %t", keys(nodes), ok)
		}
	}
	r.roll.strike(a) // what was listed before
	if nodes, ok := r.roll.call(r.conn, "d", r.list()); !ok || len(nodes) != 0 {
		t.Errorf("listed %v, %t", keys(nodes), ok)
	}
	r.remove(slices.Index(r.names, b))
	r.remove(slices.Index(r.names, a))
	r.want(r.list())
	if n := len(r.roll.foreign); n != 0 {
		t.Errorf("%d names are remembered of what is gone", n)
	}
	r.create(1, exhausted)
	if nodes, ok := r.roll.call(r.conn, "d", r.list()); ok {
		t.Errorf("listed %v", keys(nodes))
	}
}

// A negative sequence of eleven characters ends as a positive one does.
func TestRollBelievesNoHalfOfANumber(t *testing.T) {
	r := newRolled(t)
	for _, sequence := range []int{5, exhausted - 1} {
		if s := r.roll.sign(r.create(1, sequence), r.stat.Czxid); s.seq == 0 {
			t.Errorf("%d is not believed", sequence)
		}
	}
	for _, sequence := range []int{exhausted, -1, -999_999_999, -1_000_000_000, -2_000_000_000, -2_147_483_648} {
		if s := r.roll.sign(r.create(1, sequence), r.stat.Czxid); s != (sign{}) {
			t.Errorf("%d is taken for %+v", sequence, s)
		}
	}
}
