// Package queue is the waiting line that the recipes are made of: join at the end, wait
// for the entries ahead, hold, release, and leave nothing behind. A recipe adds a [Rule],
// one pure function that says which entry waits for which.
//
// A line is a directory of the store. A place in it is an [Entry]: an ephemeral node that
// the store puts in order and that carries a fencing token. [Queue.Acquire] returns an
// entry when the rule lets it hold, [Entry.Hold] gives the caller a context that ends
// with the entry, and [Entry.Release] leaves the line.
//
// What can go wrong is dealt with here. A create whose reply was lost is made again, and
// finds its node. If the caller gives up meanwhile, the node that may still land is
// abandoned in the background; a delete that fails is repeated. When the session ends,
// waits and holds end with the reason, and nothing is granted on it.
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
// with coord.ErrRemoved. A waiter notices by its wait, by its next list, or by the same
// watch. Until the news arrives two may hold; the fencing token orders them.
//
// # Files
//
// Each file uses what is in those after it:
//
//	downgrade.go  replacing a held entry by one of another kind, in its place
//	revoke.go     asking an entry to leave
//	hold.go       holds on an entry, re-entry, release
//	acquire.go    Acquire and TryAcquire
//	wait.go       waiting until the rule lets an entry hold
//	gate.go       gates, which tell of grants
//	write.go      replacing an entry's value
//	guard.go      the grant, and the watch for an operator's deletion
//	join.go       creating an entry, and listing its line
//	leave.go      deleting an entry, and giving up a create
//	entry.go      the entry, and its end
//	queue.go      the line as observers see it
//	data.go       what is in a node's data
//	id.go         what is in a node's id
//	rule.go       the rule
package queue
