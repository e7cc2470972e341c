// Package soak lets several clients use the recipes on a driver while random faults
// happen to their connections, their sessions, their entries, themselves and the store,
// and judges what they saw with package history. It complements the suite in package
// conformance, whose cases are exact and short: soak finds what no case lists.
//
// A driver author runs it with the harness of the suite:
//
//	func TestSoak(t *testing.T) {
//		soak.Test(t, harness(t), soak.Options{Duration: time.Minute})
//	}
//
// A failure prints the seed, the broken promises, and what led to each. The seed
// repeats the choices of clients and faults, but not the scheduling.
//
// # What happens
//
// A run consists of rounds. In each, every worker of every client acquires, keeps for a
// while and releases, again and again, whatever it chooses of the recipes. Some calls
// are bounded by a deadline, some do not wait, and some wait for as long as it takes.
// The holder of a mutex enters it again, now and then while it is unlocked, and is
// asked to let go. Meanwhile one fault follows another. A link is frozen, slow, cut,
// loses replies or delivers a request late. A client is killed and comes back, or
// closes its session or itself while in use. The store ends a session, or an operator
// removes an entry or a whole line. [Options.Faults] does more to the store itself.
// Onlookers watch every line, and follow every election, through every client.
//
// Then all is made well, and judged: every call comes to an end, every client is
// served again, and nothing is left in the lines while the sessions live on. The
// next round goes on with the same clients. After the last one the clients are
// closed, and nothing may be left in the store. A run ends early with the round
// in which a promise was broken.
package soak
