// Package zk is the driver for ZooKeeper, on github.com/go-zookeeper/zk. Import it for its
// side effect and open a zk:// URL:
//
//	import _ "github.com/coordkit/coordkit/drivers/zk"
//
//	zk://10.0.0.1,10.0.0.2,10.0.0.3/myapp/prod?session_ttl=15s
//
// A coordkit session is a ZooKeeper session on a connection of its own. A node is an
// ephemeral sequential znode; directories are containers.
//
//	/<namespace>/<directory>/<session>-<id>-<nonce>-<sequence>   a node
//	/<namespace>/.sessions/<session>-<n>                         a session's fence
//
// Seq and Token are the directory's czxid + 1 + the node's sequence, so a list needs only
// names. The nonce, counted by the session, makes every name unique: a late Delete finds
// nothing. Every Create checks the version of the session's fence in its transaction
// (package fence). An ephemeral znode that another client made under such a name is no
// node.
//
// # What a call costs
//
//	create, with or without a list     1 transaction and 1 read; no read if likely alone
//	delete, update, abandon            1 transaction; a read more where the outcome is in doubt
//	list                               1 read; without a session 1 transaction before it
//	list with data                     and 1 read for each new node of other clients
//	wait                               1 read for each node
//	keep a session                     1 transaction every sixth of the TTL
//	open, close                        2 transactions, 1 transaction
//
// A transaction that changes nothing renews a session, as a server that is cut off from the
// others answers pings.
//
// # Operators
//
// "ls /<namespace>/<directory>" shows a line. Deleting a node takes its place away. An
// operator who writes to a node by hand must then empty the data of its directory, or
// clients go on listing the former data. With a username and password the scheme is digest,
// and what the driver makes is for that user alone.
//
// # Settings
//
// The servers grant TTLs from minSessionTimeout to maxSessionTimeout, by default 4 s to
// 40 s. A TTL should be at least 4 ticks and above syncLimit. Servers need version 3.5.3,
// for containers; 3.8 is tested. A session takes about two megabytes for the library's
// buffers. If the servers are silent, one goroutine of the library may outlive Close for
// three seconds. doc/stores.md has more.
//
// # Files
//
// Each uses only what is in itself and in those after it: conn.go, create.go, session.go,
// list.go, call.go, link.go, watch.go, wire.go (what the library cannot do), keys.go.
package zk
