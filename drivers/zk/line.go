package zk

import (
	"cmp"
	"slices"

	"github.com/coordkit/coordkit/coord/driver"
)

// line is nodes in the order of Seq, without data. Others have parts of it, so
// what is in it stays as it is; what may come behind it is nobody's.
type line struct {
	nodes []driver.Node
	signs []sign // of the nodes, close together: most of the time is spent looking at them
}

// sign is what a name is recognized by: its number, which is different for all
// that ZooKeeper has numbered, and a hash, for what somebody else has.
type sign struct{ seq, hash uint64 }

func bySeq(a, b driver.Node) int { return cmp.Compare(a.Seq, b.Seq) }

func (s sign) compare(t sign) int { return cmp.Compare(s.seq, t.seq) }

// find returns where in the line a name is.
func (l line) find(s sign) (index int, found bool) {
	if len(l.signs) == 0 || s.seq < l.signs[0].seq {
		return 0, false
	}
	// As numbers are different, it is here or further ahead.
	i := int(min(s.seq-l.signs[0].seq, uint64(len(l.signs)-1)))
	if l.signs[i].seq != s.seq {
		if i, found = slices.BinarySearchFunc(l.signs[:i], s, sign.compare); !found {
			return 0, false
		}
	}
	return i, l.signs[i] == s
}

func (l line) clip() line { return line{slices.Clip(l.nodes), slices.Clip(l.signs)} }

// part is some of the line. If it is the end of it, it can grow as the line can.
func (l line) part(from, to int) line {
	some := line{l.nodes[from:to], l.signs[from:to]}
	if to < len(l.nodes) {
		return some.clip()
	}
	return some
}

// those is a line of the nodes chosen.
func (l line) those(chosen []bool) line {
	some := line{make([]driver.Node, 0, len(chosen)), make([]sign, 0, len(chosen))}
	for i, yes := range chosen {
		if yes {
			some.add(l.nodes[i], l.signs[i])
		}
	}
	return some
}

func (l *line) add(n driver.Node, s sign) {
	l.nodes, l.signs = append(l.nodes, n), append(l.signs, s)
}

// and is the line with others, which need not be in order. It reports false if
// two have the same number.
func (l line) and(others line) (line, bool) {
	if len(others.nodes) == 0 {
		return l, true
	}
	others.sort()
	behind := len(l.signs) == 0 || l.signs[len(l.signs)-1].seq < others.signs[0].seq
	if !behind {
		l = l.clip()
	}
	l = line{append(l.nodes, others.nodes...), append(l.signs, others.signs...)}
	if !behind {
		l.sort()
	}
	for i := range l.signs[1:] {
		if l.signs[i].seq == l.signs[i+1].seq {
			return line{}, false
		}
	}
	return l, true
}

func (l line) sort() {
	slices.SortFunc(l.nodes, bySeq)
	slices.SortFunc(l.signs, sign.compare)
}
