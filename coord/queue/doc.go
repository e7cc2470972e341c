// Package queue is the waiting line that the recipes are made of: join at the end, wait
// for the entries ahead, hold, release, and leave nothing behind. A recipe adds a [Rule],
// one pure function that says which entry waits for which.
//
// A line is a directory of the store. A place in it is an [Entry]: an ephemeral node that
// the store puts in order and that carries a fencing token. [Queue.Acquire] returns an
// entry when the rule lets it hold, [Entry.Hold] gives the caller a context that ends
// with the entry, and [Entry.Release] leaves the line.
//
// A create whose reply was lost is made again, and finds its node. If the caller gives up,
// the node that may still land is abandoned in the background; a delete that fails is
// repeated. When the session ends, waits and holds end with the reason.
//
// # How an entry waits
//
// If nothing is ahead, the list that comes with the creation is the grant. Otherwise the
// entry waits for the deletion of its blocker, the entry that the rule names. If the rule
// says [Verdict.Last], that deletion is the grant; if not, the entry lists the line again.
//
// A session that is a [driver.AnyWaiter] waits by one call for the entry's own node, for
// the blocker, and for the entry before the blocker. When the latter goes, the waiter
// lists the line while the blocker still holds. It learns that it is next, and needs no
// request after the release. Other sessions wait for the blocker alone.
//
// If the blocker is an entry of the same process and session, the release is passed on
// inside the process, without any request.
//
// # An operator's deletions
//
// After 100 ms a holder watches its own node. If an operator deletes it, the hold ends
// with coord.ErrRemoved. Until the news arrives two may hold; the fencing token orders them.
//
// # Files
//
// Each file uses what is in those after it: downgrade.go, revoke.go, acquire.go, wait.go,
// gate.go, hold.go, guard.go, join.go, leave.go, entry.go, queue.go, node.go, rule.go.
package queue
