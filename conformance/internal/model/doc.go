// Package model judges what the clients of a store did and were told: which rules of
// the contract of package driver do the answers break?
//
// A [History] holds every call with its answer, in the order in which calls began and
// returned. [Judge] needs to know nothing else, and asks nobody: it is a reference model
// of a driver.
//
// # How it judges
//
// What really happened between the beginning and the end of a call nobody can tell, least
// of all where calls run at the same time, were given up, or got no reply. So of each node
// the model keeps bounds: from when to when it may have been made, since when it may be
// gone, by when it was gone for certain. A call that was given up may take effect at any
// time until a later one is acknowledged that fences it off (C2, C4, U5); one that an error
// says had no effect has none (E2). In the same way each value of a node's data has a time
// in which it may be read.
//
// A list, or a state that a watch shows, is right if there is one moment at which the
// directory may have been just so (L1). That moment lies within the call (L5), not before
// the session's own acknowledged writes (L3), or not before the state that was shown last
// (V2). Whatever a list shows proves that all that has a lower Seq was there before (O1).
//
// What says that a node is gone needs something that may have removed it (W2); what shows
// a node must not come after something that said it is gone.
//
// So nothing is reported that may have been right. What may be wrong can go unseen: a
// program that is run again, with other timing, may show it.
package model
