// Package consul is the driver for HashiCorp Consul. Import it for its side effect and open
// a consul:// URL, or use [New] with a client of your own.
//
//	consul://127.0.0.1:8500/myapp/prod
//	consul://agent-a:8501,agent-b:8501/myapp?tls=true&datacenter=dc1
//
// Any agent of the datacenter will do. If one does not answer, the next is asked, and stays.
// A host with several addresses is resolved anew for each connection, and its addresses are
// tried in turns. A proxy that the environment names is not used.
//
// # Keys
//
//	<namespace>/<directory>/<session>-<id>   a node
//	<namespace>/.fence/<session>             a session's fence, once there had to be one
//
// A session is a session of Consul without health checks. A node is a key that the session
// holds, and that Consul deletes with it. Seq and Token are its CreateIndex. In keys, "="
// stands for a percent sign.
//
// # What it costs
//
//	create, with or without the list     1 request; 2 if the node is there already
//	update, delete, abandon              1; 2 more if another client has changed the node
//	list                                 1; 2 if the first answer was too old
//	wait                                 1 for each 7 s, shared
//	wait for any of several nodes        likewise; after 1 s, 1 for each node
//	watch a directory                    1, then 1 for each change or 7 s
//	open, renew a session                1; it is renewed every third of the TTL
//	close a session                      2
//
// Create, update, delete and abandon are one entry in Raft's log. There are at most 64
// connections to an agent, and a few for sessions. At most 45 queries wait at a time: 24 for
// keys, 5 for directories and the namespace, 16 for Watch. More than 16 watches list every
// second. With TLS (HTTP/2) there is a connection for sessions and one for the rest.
//
// # What operators see
//
// "consul kv get -recurse -detailed <namespace>/" shows the lines. A session's name is the
// namespace. Deleting a node's key takes its place away; so does releasing it, which leaves
// a key that does not vanish by itself. To empty a directory, write the slash at its end:
// Consul may not tell of a deletion by a shorter prefix, which is seen after 7 seconds.
//
// # Settings
//
// Consul grants a TTL from 10 s (session_ttl_min) to 24 h, and ends a session after twice
// the TTL; the program gives up after one. A client of your own needs a transport with
// MaxIdleConnsPerHost of 64, and no time-out for whole requests.
//
// # Limits
//
// A session ends when the agent that it was opened through leaves the cluster in an orderly
// way. A store that comes back empty or is restored from a snapshot has lost locks; watches
// show what it has now. An agent allows 200 connections for an address.
//
// # Files
//
// Each uses what is in those after it: open.go, watch.go, wait.go, create.go, list.go,
// session.go, conn.go, errors.go, keys.go.
package consul
