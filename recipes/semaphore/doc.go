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
// It bounds how many work at a time, and not how often in a second. The permits of a
// crashed program come back when its session ends in the store: after the TTL, on
// Consul after twice that.
//
// One entry in the store stands for all permits of an Acquire, so it gets all of
// them or none, and two who want several never wait for each other's halves. An
// entry holds if its permits and those of everybody ahead of it, whether they
// hold or wait, are together no more than the limit. That makes it fair: a large
// request is not overtaken by small ones, which wait behind it although they
// would fit. And it never admits too many: what is ahead of an entry only ever
// gets less, so what fitted once fits from then on.
//
// # Who is woken
//
// However many wait, a change of the line (a release, a loss, somebody joining)
// wakes the one that is first to be served, and each that is let in wakes the
// next one behind it. So a release that lets n in wakes n and the one after
// them, each woken by the one before. One exception: a waiter that joins while the one
// ahead is putting up what wakes it may be woken once too early. A waiter that is
// paused when its turn comes holds up those behind it until it goes on or its session
// is over, as a holder does.
//
// # What it costs
//
// An Acquire that does not wait is one write together with one look at the line,
// and Release is another write. One that waits makes two more writes, for a node by
// which the next behind it is woken, and looks again: once, if it then holds, and
// otherwise it is the one to be served next, and watches the line. TryAcquire looks
// at the line before it joins it.
//
// Where a list carries the entries' data (etcd, Consul, mem) the write and the look
// are one request, and a look alone is one; its answer grows with the line. The node
// that wakes the next is made without a look, and has no data, so it adds only its
// name to the answers of others.
//
// Where a list is names (ZooKeeper) each look is one list of names, sent along with
// the write if there is one, however many hold and wait: how many permits an entry is
// for, and of which limit, is part of its name. The data are read as well, with one
// request for each entry that the connection does not know, by:
//
//   - TryAcquire, Contenders, Limit and Revoke;
//   - the one who is to be served next, as its watch of the line carries data. Who
//     finds its permits free when the one ahead is let in has no need of it;
//   - everybody, while somebody keeps a changed limit, while two disagree about the
//     limit, and while an entry is in line whose name has no room for its terms: for
//     more than 99 permits, or of a limit of ten digits and the eleventh or a later one
//     of its session.
//
// The packages of the drivers say what their requests are.
//
// # The limit
//
// Everybody states the limit in [New] and must state the same. A client whose limit is
// not that of the first in line fails with a [LimitError]. Its entry is in line until it is
// deleted. Nobody comes in beyond the lowest limit of the entries ahead: no mistake lets
// in too many beside one who holds.
//
// [Semaphore.SetLimit] changes it at run time, for all who use the semaphore and
// whatever they stated. The change is in the line, as a notice that the client
// who made it keeps there, and is in force while it is there: everybody goes by
// what the line shows, and by nothing that was seen before. See there for how
// long that is.
//
// A change costs two writes, the removal of what it replaces, and while it is kept
// one watch of the line. Who comes in under a raised limit that it did not know of
// writes once more, in the background. Nobody else pays for it.
//
// To deploy another limit, start a process or two that call SetLimit with it and keep
// their clients open, replace the programs by ones that state the new limit, and close
// those clients when no old program is left. A command that calls SetLimit and exits
// changes nothing for longer than it runs.
//
// # Tokens
//
// Tokens tell grants apart and put them in order. As several hold at a time, a
// resource cannot refuse a token merely because it has seen a greater one, as it
// would with a lock's.
//
// # No re-entry
//
// Each Acquire takes permits of its own, also under the context of a Held. Whoever
// holds permits and waits for more may wait for itself, for ever.
package semaphore
