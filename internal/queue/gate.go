package queue

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/coordkit/coordkit/coord/driver"
)

// A gate tells the next in line that the one ahead of it holds now. Nodes tell
// only of their end, and an entry that is granted lives on. So an entry whose
// Request says so puts up a second node while it is blocked, its gate, and takes
// it away when it is not any more. Who stands behind waits for the nearest gate
// ahead, so however long the line is, a change of it wakes the first who is
// blocked, and each who is let in wakes one more.
//
// It costs two writes for every entry that has to wait, neither of which the
// entry's own grant waits for. Whoever is let in and does not know it, because
// it is paused, keeps its gate, and those behind it asleep, until it goes on or
// its session is over: they wait for it no longer than for a paused holder.
const gateKind = "g"

// putUpGate makes the entry's gate and returns it with the line. The gate names
// its entry by Seq, which no other entry of the line ever has: a gate that is
// still being removed says nothing about who has its entry's slot next.
func (e *Entry) putUpGate(ctx context.Context) (*Entry, []driver.Node, error) {
	return e.queue.enter(ctx, e.session, e.dir,
		Request{Kind: gateKind, Value: strconv.AppendUint(nil, e.node.Seq, 10)})
}

// IsGate reports whether n is the gate of another entry.
func IsGate(n driver.Node) bool { return Kind(n) == gateKind }

// NearestGate finds the gate of the last of the entries line[from:to] that has
// one. A blocked entry may not have a gate yet, or may have lost it to an
// operator; a gate may be left of an entry that is gone.
func NearestGate(line []driver.Node, from, to int) (nearest driver.Node, found bool) {
	best := from
	for _, n := range line[from:] { // a gate stands behind its entry
		if !IsGate(n) {
			continue
		}
		seq, err := strconv.ParseUint(string(Value(n)), 10, 64)
		if err != nil {
			continue
		}
		i, there := slices.BinarySearchFunc(line[:to], seq, func(n driver.Node, seq uint64) int {
			return cmp.Compare(n.Seq, seq)
		})
		if there && i >= best && line[i].Session == n.Session {
			nearest, found, best = n, true, i
		}
	}
	return nearest, found
}

// follow watches the line until the rule lets the entry hold, refuses it, or
// names a node to wait for, and returns the line as it then is. A watch shows
// true states of the line, if late ones: late can only mean more entries ahead.
func (e *Entry) follow(ctx context.Context) ([]driver.Node, error) {
	e.guardAmong(&e.roster.waiting)
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(e.session.Context(), cancel)
	defer stop()
	e.wakeWith(cancel)
	defer e.wakeWith(nil)
	for line, err := range e.queue.client.Watch(wait, e.dir) {
		if err != nil {
			return nil, e.unfollowed(ctx, err)
		}
		own, there := e.find(line)
		if !there { // no state is older than the joining
			return nil, e.whyGone(ctx)
		}
		if v := e.queue.rule(line, own); !v.Blocked || v.Refused != nil || v.Blocker.Key != "" {
			return line, nil
		}
	}
	return nil, e.unfollowed(ctx, errWatchEnded)
}

// errWatchEnded: a watch does not end without saying why.
var errWatchEnded = errors.New("the watch of the line has ended for no reason")

// unfollowed says why the line cannot be followed.
func (e *Entry) unfollowed(ctx context.Context, err error) error {
	if over := e.over(); over != nil {
		return over
	}
	if ctx.Err() != nil {
		return driver.ContextError(ctx)
	}
	return err
}
