package queue

import (
	"context"

	"github.com/coordkit/coordkit/coord/driver"
)

// A gate tells the next in line that the entry ahead of it holds. Waits tell of deletions
// only, and an entry that is granted lives on. So an entry whose Request says Gate creates
// a second node while it is blocked, its gate, and deletes it when it is granted or gives
// up. A waiter waits for the nearest gate ahead. However long the line is, a change of it
// wakes the first blocked entry, and each entry that is let in wakes one more. A gate
// costs two writes for every entry that has to wait; the grant waits for neither.
//
// A gate's id has the slot of its entry, and the gate has no data. The slot is not used
// again before the entry and the gate are gone (see pin). So a gate stands behind its
// entry, and ahead of a later entry with the same slot: it belongs to the last entry
// ahead of it that has its slot. If that entry is gone, the gate belongs to none.
const gateKind = "g"

// openGate creates the entry's gate, or returns nil. What has failed shows in the wait
// that follows, if it matters.
func (e *Entry) openGate(ctx context.Context) (gate *Entry) {
	if e.local.pin(e) {
		gate, _, _ = e.queue.enter(ctx, e.session, e.dir, Request{Kind: gateKind, gateOf: e}, noLine)
	}
	return gate
}

// IsGate reports whether n is the gate of another entry.
func IsGate(n driver.Node) bool { return Kind(n) == gateKind }

// NearestGate returns the gate of the last of the entries line[from:to] that has one. A
// blocked entry may have no gate yet, or may have lost it to an operator.
func NearestGate(line []driver.Node, from, to int) (nearest driver.Node, found bool) {
	type slot struct{ session, number string }
	gates := make(map[slot]int) // of the next entry ahead in the slot
	for i := len(line) - 1; i >= from; i-- {
		n := line[i]
		kind, _, number := cutID(n.ID)
		at := slot{n.Session, number}
		if kind == gateKind {
			gates[at] = i
			continue
		}
		if gate, ok := gates[at]; ok && i < to {
			return line[gate], true
		}
		delete(gates, at)
	}
	return driver.Node{}, false
}
