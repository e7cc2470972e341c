// Package driver is what a store must offer for the coordination recipes to
// run on it: sessions, ephemeral nodes in order, a listing, and a way to wait
// for a deletion.
//
// Users of coordkit need this package only to name capabilities. A driver
// author implements [Conn] and [Session], registers an [Opener], and runs the
// suite in package conformance against it. Everything else (queues, retries,
// clean-up, re-entry, fencing) is written once, above the driver.
//
// # The contract
//
// The rules are numbered; the suite and doc/contract.md use the same IDs.
//
//	B1  Every call returns within 100 ms of its ctx ending, whatever the store or the link does.
//	B2  A ctx bounds the call and never the thing returned.
//	S1  Done closes before anybody else can see the session's nodes gone.
//	S2  A lost session stays lost and is never silently replaced.
//	S3  A session whose link works, or fails for much less than the TTL, stays alive.
//	S4  A session that the store ended is noticed within its TTL.
//	S5  Close is prompt, idempotent and bounded by its ctx, and removes the nodes at once.
//	S6  When a session ends, every one of its nodes vanishes.
//	S7  TTL says what was granted; what cannot be granted is ErrInvalid, naming the range.
//	S8  Sessions are independent: the end of one does not touch another.
//	S9  An OpenSession that failed leaves no session for longer than its TTL.
//	C1  Create makes one node that others see once it is acknowledged.
//	C2  Create is idempotent per (session, dir, id), also after a lost reply.
//	C3  A node belongs to one session: another session's node is never taken for one's own.
//	C4  After Abandon no earlier Create of (session, dir, id) has left a node or will.
//	C5  After Delete, Create of the same id makes a new node at the end of the line.
//	C6  Create works where the directory is missing or was removed.
//	C7  Create after the session's end fails and leaves nothing.
//	C8  Any data up to MaxData is kept exactly; more is ErrInvalid and nothing is written.
//	L1  List holds the nodes of the directory at one moment, all of them and no others, in the order of Seq.
//	L2  List ignores keys that are not of the driver's making.
//	L3  Session.List holds the session's own acknowledged writes and what preceded them.
//	L4  A directory that does not exist is empty, and listing does not make it.
//	L5  Conn.List holds everything acknowledged to anybody before.
//	O1  Seq is the order of creation, also across the wrap of a store's counter.
//	O2  Token rises from node to node over the store's life, also over a removed directory.
//	W1  WaitDelete returns nil once the node is gone, at once if it already is.
//	W2  WaitDelete returns nil for nothing else: no update, no other node, no broken watch.
//	W3  A later node of the same name is not the node waited for.
//	W4  The session's end ends the wait with ErrSessionLost within a second.
//	W5  A broken connection is healed or reported: never nil, never a hang.
//	W6  A wait that ended leaves no watch behind, or a shared and bounded one.
//	U1  Update replaces the data and nothing else.
//	U2  Update and Delete touch only the very node given.
//	U3  Deleting a gone node is success.
//	U4  Neither Update nor Delete brings a node to life.
//	U5  An Update that was given up does not undo a later one.
//	E1  A call ended by its ctx returns an error that Is the ctx's error, and not what the ctx's cause Is.
//	E2  ErrUnavailable is returned only when the call surely had no effect, and no error Is both that and ErrUncertain.
//	E3  An attempt that the store does not answer is given up within the TTL, with ErrUncertain or ErrUnavailable, although its ctx lives.
//	E4  However the store fails, no call, wait, watch or session makes more than 100 attempts a second.
//	F1  CreateList gives what Create followed by List gives; of a session with ListNames, the list may lack data.
//	F2  WaitAny returns when any of the nodes is gone, and only then.
//	F4  ListNames gives what List gives up to a Seq, with or without the data.
//	V1  Watch shows the directory as it is at once, and again after every change.
//	V2  Watch never shows an older state after a newer one.
//	V3  A watch survives a broken connection, a lost server and compacted history.
//	V4  A watch ends with the error that says why, within 100 ms of its ctx ending and at once when the Conn is closed.
//	V5  A watch that ended leaves nothing behind, or something shared and bounded.
//	F3  Caps and the optional interfaces agree.
//	N1  After Close nothing is left: no node, watch, goroutine or connection.
//
// # Who retries
//
// The layers above retry. A driver returns ErrUnavailable when a call surely was not
// applied and ErrUncertain when it may have been. It gives up an attempt that the store
// does not answer after a fraction of the TTL, so that the next can reach another
// server while the session lives (E3). Only waits and watches heal themselves, because
// only the driver knows what it has seen.
//
// # Directories and ids
//
// A directory is one path segment of ASCII letters, digits and "_-.:%", no
// longer than [MaxDir] bytes and not beginning with a dot; an id is one to
// sixteen ASCII letters or digits. Package coord encodes what users name into
// that form, so a driver need not check it, and may use names that begin with
// a dot for what it keeps beside the directories. Ids are slots: the caller
// uses a small set of them again and again, so that a store which remembers
// the names of deleted keys does not collect them.
package driver
