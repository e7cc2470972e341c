package queue

import "github.com/coordkit/coordkit/coord/driver"

// A gate tells the next in line that the entry ahead of it holds. Waits tell of deletions
// only, and an entry that is granted lives on. So an entry whose Request says Gate creates
// a second node while it is blocked, its gate, and deletes it when it is granted or gives
// up. A waiter waits for the nearest gate ahead. So however long the line is, each entry
// that is let in wakes one more. A gate costs two writes; the grant waits for neither.
//
// A gate's id has the slot of its entry, which is not used again before both are gone (see
// pin). So a gate belongs to the last entry ahead of it that has its slot, or to none.
const gateKind = "g"

// IsGate reports whether n is the gate of another entry.
func IsGate(n driver.Node) bool { return Kind(n) == gateKind }

// NearestGate returns the gate of the last of the entries line[from:to] that has one.
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
