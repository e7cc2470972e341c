package rwlock

import (
	"slices"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
)

// The kinds of entries.
const (
	reader = "r"
	writer = "w"

	// downgraded is a reader that stands in for a writer. It is made while the
	// writer's entry still is there, so it lies further back in the line than
	// its place is: who came behind the writer stands behind it.
	downgraded = "d"
)

// inLine is the rule of a read-write lock.
func inLine(line []driver.Node, own int) queue.Verdict {
	switch queue.Kind(line[own]) {
	case reader:
		return behindWriters(line, own)
	case downgraded:
		return queue.Verdict{} // it was let in as the writer
	}
	return behindAll(line, own)
}

// namesSuffice reports whether the rule needs nothing but the names of a line: where
// a downgraded writer stands is in its data.
func namesSuffice(line []driver.Node) bool {
	return !slices.ContainsFunc(line, func(n driver.Node) bool { return queue.Kind(n) == downgraded })
}

// behindWriters lets a reader wait for the nearest writer ahead. That one's
// deletion is the grant if no other writer is ahead, or if it has held, which it
// could only alone; and this also if it was downgraded, which readers share. An entry
// of a kind that is not known, as of a later version, may exclude others as well: it
// counts as a writer, of whose deletion nothing follows.
func behindWriters(line []driver.Node, own int) queue.Verdict {
	v := queue.Verdict{Last: true, Exclusive: true}
	for i := own - 1; i >= 0; i-- {
		switch queue.Kind(line[i]) {
		case reader, downgraded:
			continue
		case writer:
		default:
			v.Last, v.Exclusive = false, false
		}
		if v.Blocked {
			v.Last = false
			return v
		}
		v.Blocked, v.Blocker = true, line[i]
	}
	if !v.Blocked {
		return queue.Verdict{}
	}
	return v
}

// behindAll lets a writer wait for the entry right ahead, and when none is
// ahead for those that stand in for one.
//
// The deletion of a writer is not the grant: it may have been downgraded, and
// what stands in for it lies behind us. Within a process the queue knows the one
// from the other, hence Exclusive.
func behindAll(line []driver.Node, own int) queue.Verdict {
	in := standIns(line, own)
	switch {
	case own > 0:
		ahead := line[own-1]
		wrote := queue.Kind(ahead) == writer
		return queue.Verdict{Blocked: true, Blocker: ahead, Last: own+len(in) == 1 && !wrote, Exclusive: wrote}
	case len(in) > 0:
		return queue.Verdict{Blocked: true, Blocker: in[0], Last: len(in) == 1}
	}
	return queue.Verdict{Aside: replaced(line, own)}
}

// standIns returns the downgraded writers that lie behind and stand ahead. There
// can be more than one: what a downgrade has left that was given up is removed
// in its own time.
func standIns(line []driver.Node, own int) (in []driver.Node) {
	for _, n := range line[own+1:] {
		if queue.Kind(n) == downgraded && placeOf(n) < line[own].Seq {
			in = append(in, n)
		}
	}
	return in
}

// placeOf returns where a downgraded writer stands: if somebody has overwritten what
// says so, ahead of everybody.
func placeOf(n driver.Node) uint64 {
	if seq := queue.InPlaceOf(n); seq != n.Seq {
		return seq
	}
	return 0
}

// replaced reports whether a writer is being downgraded.
func replaced(line []driver.Node, own int) bool {
	for _, n := range line[own+1:] {
		if queue.Kind(n) == downgraded && queue.InPlaceOf(n) == line[own].Seq {
			return true
		}
	}
	return false
}

// describe adds what an entry is in line for.
func describe(n driver.Node, c *coord.Contender) {
	c.Mode = coord.Reading
	if queue.Kind(n) == writer {
		c.Mode = coord.Writing
	}
}
