package model

import (
	"cmp"
	"slices"
)

// inOrder compares the nodes of each directory with each other: who was there
// first has the lower Seq and Token, and the other way round who has the lower Seq
// was there first.
func (j *judge) inOrder() {
	slices.SortStableFunc(j.order, func(a, b *life) int {
		return cmp.Or(cmp.Compare(a.Dir, b.Dir), cmp.Compare(a.Seq, b.Seq))
	})
	for i, a := range j.order {
		for _, b := range j.order[i+1:] {
			if a.Dir != b.Dir {
				break
			}
			j.pair(a, b)
		}
	}
}

// pair takes nodes of which the first has the lower Seq.
func (j *judge) pair(a, b *life) {
	one := j.unbroken(a, b)
	switch {
	case one && a.Seq == b.Seq:
		j.breaks("O1", b.makers[0], "%s and %s have one Seq", a, b)
	case one && b.bornBy < a.bornFrom:
		j.breaks(orderRule(b, a), a.makers[0], "it made %s, and %s, made before, has the greater Seq", a, b)
	case one:
		a.bornBy = min(a.bornBy, b.bornBy)
		b.bornFrom = max(b.bornFrom, a.bornFrom)
	}
	for _, p := range [][2]*life{{a, b}, {b, a}} {
		if p[0].bornBy < p[1].bornFrom && p[0].Token >= p[1].Token {
			j.breaks("O2", p[1].makers[0], "it made %s, and %s, made before, has a Token that is not less", p[1], p[0])
		}
	}
}

// orderRule is C5 for nodes of one slot, of which the later one was put in the
// place of the earlier.
func orderRule(earlier, later *life) string {
	if earlier.session == later.session && earlier.ID == later.ID {
		return "C5"
	}
	return "O1"
}

// unbroken reports whether their directory was surely not removed between the
// making of one and of the other, with which a store may begin to count anew.
func (j *judge) unbroken(a, b *life) bool {
	for _, c := range j.removals[a.Dir] {
		before := c.ok() && c.End < min(a.bornFrom, b.bornFrom)
		after := c.Begin > max(a.bornBy, b.bornBy)
		if !before && !after {
			return false
		}
	}
	return true
}
