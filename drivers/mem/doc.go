// Package mem is a coordination store inside the process: for tests, for
// programs that run as one process today and want to keep the choice, and as
// the reference implementation of the contract in package driver.
//
// Import it for its side effect and open
//
//	mem://name/namespace
//
// where the name may be left out: all who open the same name in one process
// share one store. It lives until the last of its connections is closed. Tests
// that want a store of their own, and faults, make one with [NewStore] and hand
// the result of [Store.Open] to package coord.
//
// # Limits
//
// Other processes do not see the store, so it protects nothing from them: a
// program that runs in several copies asks for driver.CapShared at open, which
// this store does not have. Nothing survives the process (no driver.CapDurable).
// A session's time to live may be from [MinTTL] to [MaxTTL].
//
// Calls cost about the same however many nodes a directory has, with one
// exception: the first listing after a node was changed, or was removed
// elsewhere than at the head of the line, copies the line. An observer lists
// whenever something has changed.
//
// # A store behind a link
//
// A connection talks to its store as if over a network. Its [Link] can be
// frozen, delayed, cut and more, by the same verbs as the TCP proxy of package
// conformance/netfault, and can hold single requests back to let them land
// late. A [Store] can be tampered with as an operator could: [Store.Expire],
// [Store.Remove], [Store.RemoveDir], [Store.PutForeign]. All this is for tests;
// a link without a fault costs one atomic load per call.
//
// Everything that takes time here takes it from package time, so that a test
// inside a testing/synctest bubble controls it.
package mem
