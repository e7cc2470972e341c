// Package watch makes waits and watches of lists.
//
// Many stores can tell a client that something in a directory has changed, and not what:
// a blocking query, a notification, or nothing but a poll. A driver for such a store
// writes one function, a [Follow], which shows the nodes of a directory again and again.
// A [Hub] makes of it the waits of a session (WaitDelete and WaitAny, rules W1 to W6) and
// the Watch of a connection (V1 to V5).
//
// All waits in one directory share one Follow, which runs for as long as one of them
// lasts. What a list does not show yet is not gone: a list counts for a node only if it is
// as new as the node (W2).
package watch
