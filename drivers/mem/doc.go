// Package mem is a coordination store inside the process: for tests, for
// programs that run as one process today and want to keep the choice, and as
// the reference implementation of the contract in package driver.
//
// Import it for its side effect and open
//
//	mem://name/namespace
//
// All who open the same name in one process share one store; the name may be
// left out. When the last connection is closed the sessions that are left end,
// with their nodes. A test that wants a store of its own, and faults, makes one
// with [NewStore] and hands the result of [Store.Open] to package coord.
//
// # Limits
//
// Other processes do not see the store, so it protects nothing from them. It does
// not have driver.CapShared, which a program that runs in several copies requires
// at open. Nothing survives the process. A TTL is from [MinTTL] to [MaxTTL].
//
// Calls cost about the same however many nodes a directory has, with one
// exception. The first listing after a node was updated, or deleted elsewhere
// than at the head of the line, copies the line.
//
// # A store behind a link
//
// A connection talks to its store as if over a network. For tests, its [Link] can
// be frozen, delayed, cut and more, as the TCP proxy of package
// conformance/netfault, and can hold single requests back to let them land late. A
// [Store] can be changed as an operator could: [Store.Expire], [Store.Remove],
// [Store.RemoveDir], [Store.PutForeign]. All timers are of package time, so that a
// test in a testing/synctest bubble controls them.
//
// # The files
//
// In this order a file uses only what stands below it:
//
//	open.go       mem:// URLs and the named stores
//	conn.go       a connection
//	session.go    a session, as the client has it
//	fault.go      faults of a link, and what operators do to a store, for tests
//	wait.go       waiting for a change
//	link.go       the network between a client and the store
//	store.go      the store: leases, and what each request does
//	watch.go      the watches that are set at the store
//	directory.go  the nodes of a directory, in order
package mem
