// Package zk is the driver for ZooKeeper: import it for its side effect and open
// a zk:// URL.
//
//	import _ "github.com/coordkit/coordkit/drivers/zk"
//
//	zk://10.0.0.1,10.0.0.2,10.0.0.3/myapp/prod?session_ttl=15s
//
// # How it works
//
// A session is a session of ZooKeeper, on a connection of its own; a node is an
// ephemeral sequential node:
//
//	/<namespace>/<directory>/<session>-<id>-<nonce>-<sequence>   a node
//	/<namespace>/.sessions/<session>-<n>                         a session's fence
//
// The namespace is the path below which everything is kept, and takes the place
// of a chroot. It is made of persistent nodes, and the directories of containers,
// which the servers remove when they have been empty for a while.
//
// A session is renewed every sixth of its TTL by a transaction that changes
// nothing. Pings, which the client library sends too, prove nothing: a server
// that is cut off from the others answers them. The session is given up a TTL,
// less a margin, after the sending of the last renewal but one that was
// answered. When it is over, nothing is dialed any more, so that no other
// session can take its place unseen.
//
// A node is created by one transaction that asks for the version of the
// session's fence as well. After a lost reply the fence is raised, by writing to
// it; then whatever was sent before and arrives later is refused, and a look at
// the directory tells what was made. So Create finds its node again, and Abandon
// leaves none behind, whichever way requests take. The nonce, counted by the
// session, makes every name unique: a Delete that arrives late finds nothing.
//
// Seq and Token are the directory's czxid + 1 + the node's sequence. As every
// creation has a zxid of its own, that is never more than the node's own czxid,
// it rises from node to node, and a directory that was removed and made again
// begins beyond it. A list so needs nothing but the names. From sequence
// 2146435072 on, where ZooKeeper's counter is about to run out, the node's own
// czxid is used instead: servers of 3.8 give all nodes the sequence 2147483647
// then, and sometimes negative ones in between.
//
// A wait sets a watch on the node's children, of which an ephemeral node has
// none, so that it fires for nothing but the deletion. All waits of a session
// for a node share a watch, which is set again on each new connection and taken
// back a second after its last wait.
//
// The requests that a lock is made of (create, delete, lists of names, watches)
// travel on the library's connection and not through the library, which takes each
// through four goroutines and reads it by reflection, and so do the events of
// watches. All others, the handshake and the pings are the library's.
//
// Watch looks at a directory through a watch of its data, which updates write to,
// and one of its children, or of its creation while there is none. It begins as a
// list without a session does, and again when its connection's session is over,
// so that it never goes back. Every 15 s it does so without an event: servers send
// none to whom they have come to deny a directory, and one that is cut off from
// the others, and has not noticed, has none.
//
// # What it costs
//
// Requests; those of a line are made at the same time:
//
//	create, with or without a list     1 transaction and 1 read, or without that if alone
//	delete, update                     1 transaction; a read before the first update
//	                                   of a node whose creation was uncertain
//	abandon of what stands             1 transaction
//	abandon of what may be             1 transaction, 1 read, and those for what is found
//	list by a session                  1 read
//	list by an observer                1 transaction, then 1 read
//	list with data                     and 1 read for each node of others that is new
//	whether a node is the first        1 read
//	wait                               1 read for each node
//	watch, to begin with               1 transaction, then 2 reads
//	watch, for each change             2 reads
//	open a session                     2 transactions
//	close a session                    1 transaction
//	keep a session                     1 transaction every sixth of the TTL
//
// A session whose last node in a directory was the only one, and which has deleted
// that, lists nothing when it makes the next one by name, as of the third: if that has
// the next number of the sequence, nobody has made any in between. The number alone
// would not do, as the sequence begins anew with a directory that was removed and made
// again, so it is believed only while fewer zxids were given out than that takes, by
// half. If it turns out that it is not alone, it lists afterwards.
//
// ZooKeeper lists names only. Recipes whose rule looks at nothing else, as those
// of the mutex and the election, have lists by name, at no other cost. Other
// lists come with the data of every node: each node that another connection has
// made is read once, all at once, and then remembered; those who list at the same
// time read it once for all of them, and what this connection has made is known.
// An Update writes to the directory, too, which makes others that list it with
// data read its nodes again. What it writes is the node's name, so that those who
// watch it read only that node.
//
// While twelve creates and deletes of a session are under way, further ones wait
// for one of them to be answered, for 100 ms at most, and then up to 32 go as one
// transaction, with a read for each create. Creates in one directory go one by one.
// If a server refuses the transaction, nothing of it was done, and each is made
// again by itself.
//
// What is not bound to the session that its name tells is no node, whoever put it
// there. Lists with data leave it out. By name it is listed until somebody waits
// for it: the answer to the request for the watch tells whom it belongs to, the
// wait ends at once, and the connection does not list it any more.
//
// Each session takes a connection of the servers and about two megabytes of
// memory, for the library's buffers. A connection that only lists takes one as
// well, from the first list on.
//
// # What operators see
//
// "ls /<namespace>/<directory>" shows the lines; the last part of the names is
// the order. "dump", of the commands of four letters, shows whose sessions hold
// what. Deleting a node takes its place in line, or its lock, away, and deleting
// a session's fence does no harm. Removing a directory with "deleteall" removes
// node after node, in no order, and may let one after the other be first for a
// moment. Whoever writes to a node by hand must then empty the data of its
// directory, or others go on to list the former ones. Whoever makes a node
// unreadable for us makes waits for its deletion blind.
//
// With a username and password the scheme is digest, and by default everything
// is for that user alone, the parts of the namespace that did not exist before
// included: make those that several users share beforehand. A password that is
// wrong is not found out until something is there that it does not open.
//
// # Settings that are safe
//
// The servers grant from minSessionTimeout to maxSessionTimeout, by default from
// 2 to 20 ticks of 2 s. A TTL should be at least 4 ticks, for the proof that a
// session lives rests on what followers tell the leader twice in a tick, and
// clearly above syncLimit ticks, after which the servers notice that one of them
// is gone. List all servers in the URL. A server that is silent for a sixth of
// the TTL is left for another one; names are resolved anew each time.
//
// Servers that restrict the transactions of a client, such as by a quota or by
// throttling, may refuse a renewal.
//
// # The client library
//
// The driver uses github.com/go-zookeeper/zk, and keeps its pitfalls from the
// program: calls that know no context, a connection that opens another session
// when one has expired, recipes that panic on foreign names (Lock,
// CreateProtectedEphemeralSequential), names that are resolved once, waits of up
// to ten times the session's timeout for a server that is frozen, pauses of a
// second between attempts, ways for it to block itself for ever (credentials
// that are sent again, Close at the wrong moment), and a data race when it sets
// watches again. For that it dials by itself and sees every message that passes;
// the few that the library does not have (credentials, the removal of a watch,
// the session's end, repeated) are added there.
//
// There is no way to use a connection of the program's own: it would not have
// these precautions, and its session would be shared.
//
// # Limits
//
// A fencing token is higher than all before it as long as the servers' zxids
// rise: a restored backup may bring lower ones. Somebody who makes many nodes in
// a directory of ours by one transaction, which then have one zxid, makes its
// numbers run ahead of the zxids; should the directory be removed and made again
// within as many zxids, tokens would repeat. A server that, unlike 3.8, lets the
// sequence begin anew after it ran out would have it at 0 again 2 billion
// creations later; a directory that was never empty until then would lose its
// order.
//
// After Close of a connection whose servers do not answer, one goroutine of the
// library may live for three seconds.
//
// # Versions
//
// The driver needs servers of 3.5.3 or later, for containers and for watches
// that are taken back, and is tested with 3.8.
package zk
