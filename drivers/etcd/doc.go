// Package etcd is the driver for etcd: import it for its side effect and open an etcd://
// URL, or use [New] with a client of your own.
//
//	import _ "github.com/coordkit/coordkit/drivers/etcd"
//
//	etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379/myapp/prod
//
// # Keys
//
//	<namespace>/<directory>/<lease>-<id>   a node
//	<namespace>/.fence/<lease>             a session's fence
//
// A session is a lease, written as sixteen hexadecimal digits; its keys are bound to it. A
// key counts as a node only if it is bound to the lease that its name tells. Sequence number
// and fencing token are the key's creation revision. The fence exists once a request was in
// doubt or a node was abandoned (package fence).
//
// # Cost
//
// Requests, each a round trip to a majority:
//
//	create, with or without the list   1
//	update, delete, abandon, list      1
//	list what is ahead of a waiter     0 while it waits, as the watch tells
//	open or close a session            1
//	wait                               0; 1 read when a client begins to watch a line, and then
//	                                   about every half minute
//	observe                            1 read, and 1 every half minute
//	keep a session                     1 message every third of the TTL, which is no write
//
// Waits in a directory share one watch of its deletions, which outlives the last wait by a
// second: so each program in a line is told of each release. All watches share a stream; one
// that is silent for 8 s is opened anew.
//
// # Operations
//
// "etcdctl get --prefix <namespace>/" shows the lines. "etcdctl lease revoke <session>" ends
// a session; "etcdctl del <key>" takes a lock or a place in line away. A role needs
// readwrite permission for the prefix <namespace>/. The TTL is whole seconds, at least one
// and a half election timeouts. A connection of a URL that takes requests and answers none
// is replaced; a host name is resolved at each dialing, and its addresses have their turns.
// A proxy from the environment (HTTPS_PROXY) is not used. For a client of the program's own
// all this is the program's to do; set at least DialKeepAliveTime and DialKeepAliveTimeout.
//
// # Limits
//
// A leader that was frozen for longer than the TTL may revoke a lease that was renewed
// through its successor (etcd-io/etcd#15247), so give the fencing token to what the lock
// protects. Restore backups with "etcdutl snapshot restore --bump-revision=…
// --mark-compacted", or tokens begin again from a lower number. Nothing between client and
// server may send a request again. grpc-proxy has not been tried. The driver is tested with
// servers of 3.7 and needs 3.4; 3.5.28, 3.6.9 or later is recommended.
//
// # Files
//
// A file uses only what stands below it: open.go, conn.go, create.go, session.go, wait.go,
// store.go, wire.go, errors.go, keys.go.
package etcd
