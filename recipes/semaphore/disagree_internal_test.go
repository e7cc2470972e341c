package semaphore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
)

// modelLine is a line of clients that were given different limits, as a store that
// does one thing at a time would have it.
type modelLine struct {
	*testing.T
	rand  *rand.Rand
	nodes []driver.Node
	seq   uint64
	all   []*modelEntry // that are in the line
}

type modelEntry struct {
	terms
	node, gate driver.Node
	holds      bool
	refused    bool // and about to leave
}

func (l *modelLine) put(id string) driver.Node {
	l.seq++
	n := driver.Node{ID: id, Key: strconv.FormatUint(l.seq, 10), Session: "s", Seq: l.seq, Token: l.seq}
	l.nodes = append(l.nodes, n)
	return n
}

func (l *modelLine) remove(n driver.Node) {
	l.nodes = slices.DeleteFunc(l.nodes, n.Same)
}

// look asks the rule, and wants that nobody comes in who would be too many for
// somebody who holds, and that nobody is refused who waits.
func (l *modelLine) look(e *modelEntry) {
	s := Semaphore{stated: e.stated, name: "s"}
	v := s.inLine(l.nodes, slices.IndexFunc(l.nodes, e.node.Same))
	switch gated := e.gate.Key != ""; {
	case v.Refused != nil:
		e.refused = true
		if gated || !errors.Is(v.Refused, ErrLimit) {
			l.Fatalf("%v: %v, gated: %t, in the line %v", e.terms, v.Refused, gated, l)
		}
	case !v.Blocked:
		e.holds = true
		l.remove(e.gate)
		held, lowest := 0, int64(MaxLimit)
		for _, other := range l.all {
			if other.holds {
				held, lowest = held+other.permits, min(lowest, other.stated)
			}
		}
		if int64(held) > lowest {
			l.Fatalf("%d permits are held; the limit of one who holds is %d; the line is %v", held, lowest, l)
		}
	}
}

func (l *modelLine) String() (line string) {
	for _, e := range l.all {
		line += fmt.Sprintf(" %d/%d", e.permits, e.stated)
	}
	return line
}

func (l *modelLine) join() {
	t := terms{permits: 1 + l.rand.IntN(3), stated: []int64{3, 9}[l.rand.IntN(2)]}
	e := &modelEntry{terms: t}
	e.node = l.put(request + t.named() + strconv.FormatUint(l.seq, 10))
	l.all = append(l.all, e)
	l.look(e)
}

// step is one of the things that somebody in the line can do next.
func (l *modelLine) step(e *modelEntry) {
	switch {
	case e.holds, e.refused:
		l.remove(e.node)
		l.all = slices.DeleteFunc(l.all, func(other *modelEntry) bool { return other == e })
	case e.gate.Key == "":
		e.gate = l.put("g" + e.node.ID[len(request+e.named()):])
	default:
		l.look(e)
	}
}

// Whoever has which limit, and however long the refused take to leave: nobody comes
// in who would be too many for another, who waits is not refused, and in the end all
// have been in.
func TestClientsThatDisagree(t *testing.T) {
	for seed := range uint64(3000) {
		l := &modelLine{T: t, rand: rand.New(rand.NewPCG(seed, 0))}
		for range 60 {
			if len(l.all) == 0 || len(l.all) < 8 && l.rand.IntN(3) == 0 {
				l.join()
			} else {
				l.step(l.all[l.rand.IntN(len(l.all))])
			}
		}
		for range 100 {
			for _, e := range slices.Clone(l.all) {
				l.step(e)
			}
		}
		if len(l.all) > 0 || len(l.nodes) > 0 {
			t.Fatalf("still in the line: %v, %v", l, l.nodes)
		}
	}
}
