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

// behindWriters lets a reader wait for the nearest writer ahead. That one's
// deletion is the grant if no other writer is ahead, or if it has held, which it
// could only alone; and this also if it was downgraded, which readers share. An entry
// of a kind that is not known, as of a later version, may exclude others as well: it
// counts as a writer.
func behindWriters(line []driver.Node, own int) queue.Verdict {
	v := queue.Verdict{Last: true, Exclusive: true}
	for i := own - 1; i >= 0; i-- {
		if kind := queue.Kind(line[i]); kind == reader || kind == downgraded {
			continue
		}
		if v.Blocked {
			v.Last = false
			break
		}
		v.Blocked, v.Blocker = true, line[i]
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
	standIn, replaced := standIns(line, own)
	switch {
	case own > 0:
		ahead := line[own-1]
		wrote := queue.Kind(ahead) == writer
		return queue.Verdict{Blocked: true, Blocker: ahead, Last: own == 1 && standIn.Key == "" && !wrote, Exclusive: wrote}
	case standIn.Key != "":
		return queue.Verdict{Blocked: true, Blocker: standIn}
	}
	return queue.Verdict{Aside: replaced}
}

// standIns returns the first of the downgraded writers that lie behind and stand
// ahead, and whether line[own] itself is being downgraded. What stands in for it says so
// in its data. All others stand ahead: who is downgraded was the first in line. There can
// be more than one: what a downgrade has left that was given up is removed in its own time.
func standIns(line []driver.Node, own int) (first driver.Node, replaced bool) {
	for _, n := range slices.Backward(line[own+1:]) {
		switch {
		case queue.Kind(n) != downgraded:
		case queue.InPlaceOf(n) == line[own].Seq:
			replaced = true
		default:
			first = n
		}
	}
	return first, replaced
}

// describe adds what an entry is in line for.
func describe(n driver.Node, c *coord.Contender) {
	c.Mode = coord.Reading
	if queue.Kind(n) == writer {
		c.Mode = coord.Writing
	}
}
