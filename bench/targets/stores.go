package targets

import (
	"slices"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/report"
	"github.com/coordkit/coordkit/bench/servers"
)

// Of returns the targets over the given network. Order holds over every
// network. Speed has targets on the loopback and at a round trip of 1 ms, both
// without TLS.
func Of(n report.Network) []Target {
	all := order()
	switch {
	case n.TLS:
	case n.RTT == 0:
		all = append(all, loopback()...)
	case n.RTT == 1:
		all = append(all, millisecond()...)
	}
	return all
}

// The locks that come with the stores' own clients.
const (
	etcdPeer      = "Mutex"
	zooKeeperPeer = "zk.Lock"
	consulPeer    = "api.Lock, session reused" // which does not open a session for each lock
)

// drains are the cases in which a lock is handed to 1,000 waiters in turn.
var drains = []string{"drain-20", "drain-1"}

// loopback returns the targets of speed on the loopback.
func loopback() []Target {
	crowds := []string{"contention-8", "contention-32", "contention-100"}
	contended := append([]string{"contention-2"}, crowds...)
	all := slices.Concat(
		beat(servers.Etcd, etcdPeer, 50, "contention-2"),
		beat(servers.Etcd, etcdPeer, 1, crowds...),
		beat(servers.Etcd, etcdPeer, 2, drains...),
		beat(servers.Etcd, contest.Floor, 1.2, "election-2", "election-8"),
		beat(servers.ZooKeeper, zooKeeperPeer, 1, contended...),
		beat(servers.ZooKeeper, zooKeeperPeer, 1.1, drains...),
		beat(servers.Consul, consulPeer, 0.9, contended...),
		beat(servers.Consul, consulPeer, 20, drains...),
	)
	for _, store := range servers.Names() {
		all = append(all, beat(store, contest.Floor, 0.93, "uncontended")...)
	}
	return all
}

// millisecond returns the targets of speed and of requests at a round trip of 1 ms.
func millisecond() []Target {
	const one, two, eight, crowd, keys = "uncontended", "contention-2", "contention-8", "contention-32", "keys-64"
	return slices.Concat(
		beat(servers.Etcd, contest.Floor, 0.98, one),
		beat(servers.Etcd, contest.Floor, 1.7, two),
		beat(servers.Etcd, contest.Floor, 1.5, eight),
		beat(servers.Etcd, contest.Floor, 1, crowd),
		beat(servers.Etcd, contest.Floor, 1.1, keys),
		beat(servers.Etcd, contest.Floor, 2, drains...),
		requests(servers.Etcd, 2, one, two, eight),
		requests(servers.Etcd, 3, crowd),

		beat(servers.ZooKeeper, contest.Floor, 1.4, one),
		beat(servers.ZooKeeper, contest.Floor, 0.97, two),
		beat(servers.ZooKeeper, contest.Floor, 1.5, eight),
		beat(servers.ZooKeeper, contest.Floor, 1.45, crowd),
		beat(servers.ZooKeeper, contest.Floor, 1.5, keys),
		beat(servers.ZooKeeper, contest.Floor, 1.6, drains...),
		beat(servers.ZooKeeper, zooKeeperPeer, 1, append([]string{one, two, eight, crowd, keys}, drains...)...),
		requests(servers.ZooKeeper, 2, one),

		beat(servers.Consul, contest.Floor, 0.97, one, two, eight, crowd),
		beat(servers.Consul, contest.Floor, 1.6, keys),
		requests(servers.Consul, 2, one),
		requests(servers.Consul, 2.8, two),
		requests(servers.Consul, 4, eight, crowd),
	)
}

// order returns the targets of fairness: no contender is served out of order. On
// Consul, where the store's own locks are not fair, no session starves either.
func order() []Target {
	var all []Target
	for _, members := range []int{1, 3} {
		for _, store := range servers.Names() {
			for _, name := range []string{"contention-2", "contention-8", "contention-32", "contention-100", "drain-20", "drain-1", "semaphore-10", "readwrite"} {
				all = append(all, Target{Store: store, Members: members, Case: name, What: "violations of order", find: own(violations), Most: true})
			}
		}
		for _, name := range []string{"contention-2", "contention-8", "contention-32"} {
			all = append(all, Target{Store: servers.Consul, Members: members, Case: name, What: "sessions starved", find: own(starved), Most: true})
		}
	}
	return all
}

// beat returns targets of coordkit's rate as a multiple of a side's, on one server.
func beat(store, side string, least float64, cases ...string) []Target {
	var all []Target
	for _, name := range cases {
		all = append(all, Target{Store: store, Members: 1, Case: name, What: "times " + side, side: side, find: against(side), Bound: least})
	}
	return all
}

// requests returns targets of the requests that a lock and unlock takes, on one
// server.
func requests(store string, most float64, cases ...string) []Target {
	var all []Target
	for _, name := range cases {
		all = append(all, Target{Store: store, Members: 1, Case: name, What: "requests for each lock", find: own(requested), Bound: most, Most: true})
	}
	return all
}
