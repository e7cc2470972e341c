// Package rwlock is a lock between processes that many may hold to read, or one
// to write: fair, fenced, and honest about its loss.
//
//	lock := rwlock.New(client, "catalog")
//	held, err := lock.RLock(ctx)
//	if err != nil {
//		return err
//	}
//	defer held.Unlock(context.WithoutCancel(ctx)) // or with a deadline
//	work, cancel := held.Within(ctx)              // ends with the lock, and with ctx
//	defer cancel()
//	err = read(work)
//
// Readers and writers stand in one line, first come, first served, so neither starves:
// a reader waits for every writer ahead of it, including those that are still waiting,
// and a writer for every entry ahead. The readers between two writers hold together and
// are woken together, by the nearest writer ahead alone.
//
// # Down, but not up
//
// A writer becomes a reader with [WriteHeld.Downgrade], and no other writer gets
// in between. A reader cannot become a writer: two that try wait for each other
// for ever. So Lock under a reader's context is [ErrUpgrade]; unlock, lock, and
// look again at what was read.
//
// # Re-entry
//
// Ownership goes with the context of a hold, and not with the goroutine. Under
// a reader's context RLock re-enters at once, also while a writer waits in line.
// Under a writer's context both do. Such an inner hold shares the writer's place:
// even one from RLock keeps others out as a writer does, until it is unlocked too,
// and Lock re-enters under its context.
//
// # What it costs
//
// Joining the line is one write together with one look at it, unlocking is another
// write, and a handoff at most one look more. Where a list is names (ZooKeeper) a look
// is one list of names.
//
// # Tokens
//
// The tokens of writers rise strictly from one to the next, and are what a
// resource compares. A reader's token is greater than that of every writer that
// wrote before, and smaller than that of every writer that comes after, so it
// says how fresh what was read is. A downgraded writer keeps its token.
package rwlock
