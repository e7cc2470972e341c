// Package fence keeps delayed requests of a session from having an effect.
//
// A client gives a request up, makes another one, and has its answer. Then the first
// one arrives. The session does not know of what it makes: an orphan that blocks a
// line, or an old value over a new one (rules C2, C4 and U5). Deleting does not help,
// since the delete comes first. So every request that could do harm later carries a
// condition, which a later request makes false for good.
//
// There are two kinds. With [Numbers] the requests are numbered and the store keeps a
// floor: it refuses numbers below. That is for stores whose conditions can compare
// (SQL, etcd). With [Position] the store keeps a key, whose version is the position, and
// each request asks for one position: for stores whose conditions can only tell that a
// key was not changed (Consul, ZooKeeper). In both the first request after one of unknown
// outcome moves the fence in its own transaction, so a fence costs no request of its own.
//
// The fence belongs to the session, and goes with it: store it under its lease.
package fence
