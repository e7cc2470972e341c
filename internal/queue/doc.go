// Package queue is the waiting line that every recipe stands in: join at the
// end, wait for those ahead, hold, leave, and leave nothing behind.
//
// A line is a directory of the store. A place in it is an ephemeral node,
// ordered by the store, and carries a fencing token. Who blocks whom is the
// recipe's affair and is one pure function, a [Rule]; everything that can go
// wrong is dealt with here, once:
//
//   - a reply is lost: the same request is made again and finds its own entry;
//   - the caller gives up while a request is on its way: the entry that may
//     still land is abandoned in the background, on the session's time and not
//     the caller's;
//   - the session is lost while waiting or holding: waits and holds end with
//     the reason, and nobody is granted anything on it;
//   - somebody deletes the entry in the store: the waiter or holder is told;
//   - leaving fails: it is tried until the entry is gone or the session is,
//     and a later call to leave waits for that.
package queue
