// Package semaphore is a counting semaphore between processes: weighted, fair,
// fenced, and honest about its loss.
//
//	held, err := semaphore.New(client, "database", 20).Acquire(ctx, 3)
//	if err != nil {
//		return err
//	}
//	defer held.Release(ctx)
//	err = work(held.Context(), held.Token())
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
// them, and nobody else. It takes turns: each of the n is woken by the one
// before. A waiter that is paused when its turn comes holds up those behind it
// until it goes on or its session is over, as a holder does.
//
// An Acquire that does not wait costs one request, and Release another. One that
// waits costs two more writes, for a node by which the next behind it is woken.
//
// # The limit
//
// Everybody states the limit in [New] and must state the same. Whoever finds
// others in line with another limit fails with a [LimitError].
//
// [Semaphore.SetLimit] changes it at run time, for all who use the semaphore and
// whatever they stated. See there for how long that lasts.
//
// # No re-entry
//
// Each Acquire takes permits of its own, also under the context of a Held. Who
// holds permits and waits for more may wait for itself.
package semaphore
