// Package semaphore is a counting semaphore between processes: weighted, fair,
// fenced, and honest about its loss.
//
//	held, err := semaphore.New(client, "database", 20).Acquire(ctx, 3)
//	if err != nil {
//		return err
//	}
//	defer held.Release(context.WithoutCancel(ctx)) // or with a deadline
//	work, cancel := held.Within(ctx)               // ends with the permits, and with ctx
//	defer cancel()
//	err = query(work)
//
// It bounds how many holders work at a time, and not how often in a second. The permits
// of a crashed program come back when its session ends in the store: after the TTL, on
// Consul after twice that.
//
// One entry in the store stands for all permits of an Acquire, so it gets all of them or
// none. An entry holds if its permits and those of all entries ahead are together no more
// than the limit. So a large request is not overtaken by small ones, which wait behind it
// although they would fit.
//
// # Wake-ups and costs
//
// A change of the line (a release, a loss, a new entry) wakes the first waiter, and each
// grant wakes the next waiter. A waiter that is paused when its turn comes holds up those
// behind it until it goes on or its session is over, as a holder does.
//
// An Acquire that does not wait is one write together with one look at the line, and
// Release is another write. A waiter makes two more writes, for a node by which the next
// one is woken, and one more look. TryAcquire looks before it writes. On ZooKeeper a look
// is a list of names. The data of each entry cost a request more there, and are read by
// TryAcquire, Contenders, Limit, Revoke and the first waiter. Every client reads them
// while a changed limit is kept, while two limits are stated, and while an entry is for
// more permits than its name has room for (99). The packages of the drivers say more.
//
// # The limit
//
// Each client states the limit in [New], and all must state the same. A client whose limit
// is not that of the first in line fails with a [LimitError]. Its entry is in line until it
// is deleted, and the lowest limit of the entries ahead counts.
//
// [Semaphore.SetLimit] changes the limit at run time, for all clients and whatever they
// stated. The change is a notice in the line that its client keeps there, and is in force
// while it is there. It costs two writes, the removal of what it replaces, and a watch of
// the line. A client that comes in under a raised limit that it did not know of writes once
// more, in the background.
//
// To deploy another limit, start a process that calls SetLimit with it and keeps its client
// open. Replace the programs by ones that state the new limit. Close that client when no
// old program is left.
//
// # Tokens and re-entry
//
// Tokens tell grants apart and put them in order. As several hold at a time, a resource
// cannot refuse a token because it has seen a greater one, as it would with a lock's.
//
// There is no re-entry: each Acquire takes permits of its own, also under the context of a
// Held. A holder that waits for more permits may wait for itself, for ever.
package semaphore
