package work

import (
	"math"
	"slices"
)

// grant is that of a part of what may be held, or of all of it, by the entry of a
// number.
type grant struct {
	number uint64
	weight int
	writes bool // it is a writer's, and readers are about
	counts bool // it was while it was measured
	left   int  // how many grants there were when its holder let go; else more than there will be
}

// overtaken counts the writers that were let in before somebody of a lower number, and
// the readers that were let in before such a writer.
func overtaken(grants []grant) (checked, n int) {
	first, firstWriter := uint64(math.MaxUint64), uint64(math.MaxUint64) // of those who came in later
	for _, g := range slices.Backward(grants) {
		if g.counts {
			checked++
			if g.writes && first < g.number || firstWriter < g.number {
				n++
			}
		}
		first = min(first, g.number)
		if g.writes {
			firstWriter = min(firstWriter, g.number)
		}
	}
	return checked, n
}

// early counts those who were let in while those of lower numbers, who held or still
// waited, were to hold so much that nothing was left for them. That one of them was
// told sooner than another, when there was something for both, is no fault.
func early(grants []grant, limit int) (checked, n int) {
	for i, g := range grants {
		if !g.counts {
			continue
		}
		checked++
		ahead := 0
		for _, other := range grants {
			if other.number < g.number && other.left > i {
				ahead += other.weight
			}
		}
		if ahead+g.weight > limit {
			n++
		}
	}
	return checked, n
}
