// Package etcd is the driver for etcd: import it for its side effect and open
// an etcd:// URL, or use [New] with a client of your own.
//
//	import _ "github.com/coordkit/coordkit/drivers/etcd"
//
//	etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379/myapp/prod
//
// # How it works
//
// A session is a lease, a node is a key bound to it:
//
//	<namespace>/<directory>/<lease>-<id>                a node
//	<namespace>/<directory>/<lease>-<id>.<generation>   a node of a slot whose name was given up
//	<namespace>/.fence/<lease>                          a session's fence
//
// The lease is written as sixteen hexadecimal digits and is the session's ID. A
// key counts as a node only if it is bound to the lease that its name tells;
// every other key is ignored. Sequence number and fencing token are the key's
// creation revision, which rises over the life of the whole cluster.
//
// A node is created by one transaction, which asks for two things: that the key
// does not exist, so that a repeated request finds the node that an earlier one
// has made, and that the session's fence has not moved. Abandon moves the
// fence, unless that was done since the last request whose reply was lost, and
// whatever was sent before and arrives later is refused. So does the next change
// after such a request, and so an update asks for the fence as well. The fence
// exists only once it was moved.
//
// A node that its session has made is deleted by its key alone, which costs the
// server less than a transaction that asks for the node's revision. What such a
// deletion could hit when it comes late is a later node of the same name; so after
// one of unknown outcome the name is not used again, and the slot goes on with the
// next generation. With a client of the program's own, whose interceptors the driver
// does not know, every deletion is a transaction.
//
// Waits share one watch for each directory, of deletions only, and all watches
// of a connection share a stream. Where a session has few of many nodes, most of
// what such a watch tells would be of no use to it; there a wait for one node has a
// watch of its own, which ends with it. A watch begins at the present and never in
// the past, which the server would serve from a list that it works off ten
// times a second: waits would end 100 ms late. Whether a node was gone before
// its watch began is told by the revisions, or else by one read for all waits.
// A watch outlives its last wait by a second. Waits are checked against the
// store about every half minute, as servers have been known to lose deletions
// (etcd-io/etcd#19179).
//
// An observer's watch (driver.Watcher) is one more on the same stream, of all
// events, and ends with its loop. It too begins at the present: one read, made
// when it is open, gives the directory as it is, and the events are applied to
// that. They are ordered by their revisions, so that what a member that lags
// tells is never shown after what another has told; after a break, or when the
// server gives a watch up because its history was compacted, it begins anew in
// the same way, and shows what has changed. It is checked as waits are.
//
// # What it costs
//
// Requests, where each is a round trip to a majority:
//
//	create, with or without the list   1
//	update, delete, abandon, list      1
//	open or close a session            1
//	wait                               0; 1 read if anything at all was written in
//	                                   the store between the list and the watch's
//	                                   beginning, but not while the watch is open;
//	                                   where there are 12 nodes for each of ours, of
//	                                   which there are fewer than 8, always a watch,
//	                                   and mostly a read
//	observe                            1 read, and 1 every half minute; a change
//	                                   is 1 message of the server's
//	keep a session                     1 message every third of the TTL, which is
//	                                   no write
//
// After a reply was lost, the next change takes one request more.
//
// While twelve changes of a connection are under way, further ones wait for one of
// them to be answered, for 100 ms at most, and then those of one session go as one
// transaction, up to 32 of different directories. So a program that uses many locks
// at a time makes fewer requests than it has locks to take. If the server refuses
// the transaction, nothing of it was done, and each is made again by itself.
//
// A connection of Open makes its requests over connections of its own, on which who asks
// writes and reads; with gRPC's two goroutines for each it would take twice the
// processor's time, and a lock and unlock an eighth longer. Where the URL names several
// hosts they are to the leader, which the others would have to ask, and when an answer
// tells of an election the next leader is looked for. Where there is a password they
// share one token. There are up to two, beside gRPC's, for a program that makes several
// requests a second, and one for the watches while there are any, which go to all
// members in turns. As long as there is none, requests go by gRPC, and so do those that
// come at the same time, or are longer than 16 KiB, and the renewals of sessions.
//
// A connection with waits asks the server for a sign of life after 3 s of
// silence, so that a wait on a member that is frozen moves to another within
// about 8 s. A session keeps one stream open for its renewals, and with it one
// token where passwords are used.
//
// # What operators see
//
// "etcdctl get --prefix <namespace>/" shows the lines as they stand; the order
// is that of the creation revision (-w json). "etcdctl lease timetolive --keys
// <session>" shows what a session holds, and "etcdctl lease revoke <session>"
// takes it away: the program learns of it by a node that it watches, or else by
// the next renewal, within a third of the TTL. Deleting a node's key takes that
// node's place in line, or its lock, away. Writing over a node's key by hand has
// the same effect, of which its owner and who waits for it learn within half a minute
// or so, and leaves a key that does not vanish by itself. A role needs
// read and write permission for the prefix <namespace>/.
//
// # Settings that are safe
//
// etcd grants whole seconds, and no less than one and a half election timeouts
// (2 s by default). A session outlives a change of the leader if the TTL is
// well above the time it takes; 10 s and more is sensible. Clusters of three
// or five survive the loss of a member. List all members in the URL: with one host
// a member that has lost the others is waited for, up to a third of the TTL, as the
// driver knows of nowhere else to go. Between client and server there must be nothing
// that sends a request again of its own accord, as some proxies can.
//
// A connection of Open tests a link of gRPC's that is silent for 10 s and tries again
// soon when a connection is lost. (Over the connections beside it, a request that is not
// answered within its attempt has the next go elsewhere.) For a client of your own set the
// same:
//
//	clientv3.Config{
//		DialKeepAliveTime:    10 * time.Second, // gRPC pings no more often
//		DialKeepAliveTimeout: 3 * time.Second,
//		DialOptions: []grpc.DialOption{
//			grpc.WithConnectParams(grpc.ConnectParams{
//				Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second},
//				MinConnectTimeout: 5 * time.Second,
//			}),
//			grpc.WithStaticStreamWindowSize(4 << 20),
//			grpc.WithStaticConnWindowSize(4 << 20),
//		},
//	}
//
// Without the first two, requests keep going to a member that is frozen, each
// until its attempt is given up; waits and renewals move on regardless. Without
// the third, gRPC pauses for a second after the first refused connection, which
// is too long for a short TTL, and for up to two minutes after many. Without the
// last two, gRPC sends a ping after each answer and event.
//
// Backups: restore with "etcdutl snapshot restore --bump-revision=…
// --mark-compacted", or fencing tokens start again from a lower number.
//
// # Limits
//
// An etcd lock by itself does not exclude: a leader that is frozen for longer
// than the TTL may, when it goes on, revoke a lease that was renewed through
// its successor (etcd-io/etcd#15247; its fix leaves a window, in 3.7.3 too).
// Then the holder learns of the loss at the same time as others and not before.
// Hand the fencing token to what the lock protects.
//
// A connection is for etcd itself: its grpc-proxy merges watches and has not
// been tried.
//
// # Versions
//
// The driver speaks the v3 API through go.etcd.io/etcd/client/v3 3.7 and is
// tested with servers of 3.7. It needs nothing newer than 3.4 in a server;
// 3.5.28, 3.6.9 or later is recommended, as earlier ones lose watch events or
// serve stale reads in rare cases.
package etcd
