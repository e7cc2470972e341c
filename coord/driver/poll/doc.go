// Package poll makes waits and watches for stores that can only be asked.
//
// A database has no leases and, mostly, no watches. A driver for one writes a [Look]: one
// request that says which of some nodes are gone, and which of some directories have
// changed. A [Poll] makes of it what the client waits for, by one request at a time for all
// waits and watches of a connection.
//
// # How often it looks
//
// A Poll looks often at first and then more and more rarely: after an eighth of the
// time that nothing has happened for, from Config.Shortest to Config.Longest. So a wait
// that has lasted for 80 ms is told at most 10 ms late. Any number of waits that
// nothing happens to cost one request per Config.Longest. Nothing is asked while no
// goroutine waits.
//
// A Poll also looks when an answer is bound to change: when the session of a node is due to
// expire (Answer.Next). If a session is due, the Poll calls Config.Reap and looks again.
//
// # News from elsewhere
//
// A store may also tell of some deletions by itself. The driver passes them on with
// [Poll.Gone], which needs no request, or [Poll.Soon]. While it gets them, Poll.Relax makes
// the polling slower, unless a directory is watched.
package poll
