// Package consul is the driver for HashiCorp Consul: import it for its side
// effect and open a consul:// URL, or use [New] with a client of your own.
//
//	import _ "github.com/coordkit/coordkit/drivers/consul"
//
//	consul://127.0.0.1:8500/myapp/prod
//	consul://agent-a:8501,agent-b:8501/myapp?tls=true&datacenter=dc1
//
// Any agent of the datacenter will do, client or server. Of several the first
// is asked; when one does not answer, the next is, and stays.
//
// # How it works
//
// A session is a session of Consul without health checks, a node is a key that
// it holds and that is deleted with it:
//
//	<namespace>/<directory>/<session>-<id>   a node
//	<namespace>/.fence/<session>             a session's fence
//
// A percent sign in a name is written "=", because Consul takes keys for
// encoded once more and does not read back what would then hold spaces or dots.
// A key counts as a node only if it is held by the session that its name tells;
// every other key is ignored. Sequence number and fencing token are the key's
// CreateIndex, which rises over the life of the datacenter.
//
// A node is created by one transaction, which asks for two things: that the key
// does not exist, so that a repeated request finds the node that an earlier one
// has made, and that the session's fence has not moved. Abandon moves the
// fence, and so does a Create whose predecessor is still on its way; whatever
// request was sent before and arrives later is refused. The fence exists only
// after something had to be fenced off. Update and Delete ask for the index of
// the key's last change, so neither touches a later node of that name.
// An Update sets the key's flags as well, to that index: without them, to write the
// same data again would be no change to Consul, and what asked for the index before
// would still find it.
//
// Waits are blocking queries. All that wait for a key in a process share one,
// and so do all that wait in one directory if they are many: a directory takes
// four queries for the nodes at its front and one for all the others together.
// A connection has no more than 32 of the former and 4 of the latter, then one
// for the namespace. A query that nobody needs any more ends by itself after 7
// seconds; if it were canceled the agent would keep its connection for as long
// anyway.
//
// Observers' watches are blocking queries too, one for each of up to 3
// directories and one for the namespace beyond that. Theirs are linearizable and
// made one after the other, so that no state is older than the one before,
// whichever agent or leader has answered.
//
// # What it costs
//
// Requests; those that write are one entry in Raft's log each:
//
//	create, with or without the list   1
//	update, delete, abandon            1, and 2 more if somebody else has changed the node
//	list                               1, or 2 if the first answer was too old
//	whether a node is the first        a list, which serves the call of List that often
//	                                   follows; in a long line in which the session has
//	                                   several nodes, 1 for those few that were ahead
//	open a session                     1
//	close a session                    2
//	wait                               1 for each 7 s, shared
//	wait for any of several nodes      likewise
//	watch a directory                  2, or 3 where it is watched already, then 1 for
//	                                   each change or 7 s, shared
//	keep a session                     1 every third of the TTL, which writes nothing
//
// An observer's list is linearizable (Consul's mode "consistent"). A session's
// is read as Consul does by default, from what the leader has, if it shows the
// session's own nodes as they were acknowledged; otherwise it is linearizable
// as well.
//
// While 12 changes of a connection are under way, those that come then go as one
// transaction when one of the 12 is answered: creates, updates and deletes of one
// session, each in a directory of its own, up to 64 operations. That is one request
// and one entry in the log for all. If the condition of one is not met nothing is
// done, and each is made by itself.
//
// Calls take at most 12 connections at a time, all together no more than 64 for
// each agent, of the 200 that an agent grants to a client's address by default
// (http_max_conns_per_client). When an agent refuses one there are fewer
// queries for a minute. What keeps sessions has connections that
// nothing else uses, of which one stays, so that a session is kept also when
// other programs have taken all the rest. With TLS all requests share a
// connection (HTTP/2).
//
// # What operators see
//
// "consul kv get -recurse <namespace>/" shows the lines; the order is that of
// CreateIndex (-detailed). "/v1/session/list" shows the sessions, whose names
// begin with the namespace, and "/v1/session/destroy/<session>" takes one with
// all it has away: the program learns of it by the next renewal, within a third
// of the TTL, or sooner by a node that is gone. Deleting a node's key takes
// that node's place in line, or its lock, away, and so does releasing it, which
// leaves a key that does not vanish by itself.
//
// To empty a directory, write the slash at its end: "consul kv delete -recurse
// <namespace>/<directory>/". If it is left out, or a tree from further up is
// deleted, Consul often does not tell those who watch the directory as a whole,
// and they find out when their query lapses, after 7 seconds.
//
// With ACLs a token needs
//
//	key_prefix "<namespace>/" { policy = "write" }
//	session_prefix "" { policy = "write" }
//
// where the second may name the agents' nodes. If the URL has no token,
// CONSUL_HTTP_TOKEN_FILE and CONSUL_HTTP_TOKEN count, as for Consul's own
// tools, and CONSUL_NAMESPACE and CONSUL_PARTITION likewise.
//
// # Settings that are safe
//
// Consul grants a TTL from 10 s, or what session_ttl_min of its servers says,
// to 24 h. It ends a session when twice the TTL has passed since the last
// renewal, so others wait that long for what a crashed program held; the
// program itself gives up after one TTL, and so long before. A session lives on
// when a leader is lost.
//
// For a client of your own keep as many idle connections as the driver makes at
// a time, set no time-out for requests in whole, and no more than one address:
//
//	transport := cleanhttp.DefaultPooledTransport()
//	transport.MaxIdleConnsPerHost = 64
//	transport.MaxConnsPerHost = 64
//	client, err := api.NewClient(&api.Config{HttpClient: &http.Client{Transport: transport}})
//
// A connection by URL and without TLS takes less time for a request: who asks writes and
// reads, with none of package http's goroutines in between, and what locks are made of
// (transactions, deletions and reads of keys) is written and read by the driver, without
// package api. What is sent is the same, but that what is zero is left out of
// transactions: token, datacenter, namespace, partition and the password of
// CONSUL_HTTP_AUTH are asked of package api when the connection is opened. Sessions are
// opened, kept and ended by package api in any case, and so is everything where a token
// or an agent's name has characters that are to be encoded, and on Windows.
//
// # Limits
//
// A session belongs to the node of the agent that opened it. When that agent
// leaves the cluster in an orderly way, which client agents do when they are
// stopped, or is removed from the catalog, Consul ends the session at once and
// not by its TTL. The program learns of it when a node that it holds or waits
// with is gone, typically within milliseconds, and otherwise by the next
// renewal.
//
// Fencing tokens start again from a lower number after "consul snapshot
// restore" into another datacenter.
//
// # Versions
//
// The driver uses github.com/hashicorp/consul/api 1.34 and is tested with
// servers of 1.22. It needs sessions with NodeChecks, which came with 1.7, and
// Consul's check-not-exists in transactions.
package consul
