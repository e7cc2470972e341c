package targets

import (
	"slices"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/servers"
)

// Stores returns the targets that are measured on stores.
func Stores() []Target {
	return slices.Concat(etcd(), zooKeeper(), consul(), everywhere(), clusters())
}

// beat is a ratio of at least so much to a side.
func beat(store string, members int, side string, bounds ...bound) []Target {
	var all []Target
	for _, b := range bounds {
		all = append(all, Target{Store: store, Members: members, Case: b.of, What: "times " + side, side: side, find: against(side), Bound: b.least})
	}
	return all
}

type bound struct {
	of    string
	least float64
}

func etcd() []Target {
	return slices.Concat(
		beat(servers.Etcd, 1, contest.Floor, bound{"uncontended", 0.97}, bound{"contention-2", 1.25}, bound{"contention-8", 1.15}, bound{"contention-32", 1}),
		beat(servers.Etcd, 1, "Mutex", bound{"contention-2", 50}, bound{"contention-8", 12}, bound{"contention-32", 3},
			bound{"drain-20", 2.5}, bound{"drain-1", 2.5}, bound{"keys-64", 1}),
		beat(servers.Etcd, 1, "Election", bound{"election", 1.25}),
		[]Target{{Store: servers.Etcd, Members: 1, Case: "worn", What: "times a new lock's latency", find: own(median), Bound: 1.25, Most: true}},
	)
}

func zooKeeper() []Target {
	all := slices.Concat(
		beat(servers.ZooKeeper, 1, "zk.Lock", bound{"uncontended", 1.1}, bound{"contention-2", 1}, bound{"contention-8", 1}, bound{"contention-32", 1},
			bound{"drain-20", 1.15}, bound{"drain-1", 1.5}, bound{"keys-64", 1}),
	)
	for _, name := range []string{"uncontended", "contention-2", "contention-8", "contention-32", "drain-20", "drain-1", "keys-64"} {
		curator := 1.2
		if name == "keys-64" {
			curator = 1
		}
		all = append(all, beat(servers.ZooKeeper, 1, "Curator", bound{name, curator})...)
		all = append(all, beat(servers.ZooKeeper, 1, "kazoo", bound{name, 1.6})...)
	}
	return all
}

// reused is the peer that does not open a session for each lock.
const reused = "api.Lock, session reused"

func consul() []Target {
	return slices.Concat(
		beat(servers.Consul, 1, reused, bound{"uncontended", 1.25}, bound{"drain-20", 12}, bound{"keys-64", 2}),
		beat(servers.Consul, 1, contest.Floor, bound{"uncontended", 0.97}, bound{"contention-2", 1}, bound{"contention-8", 1}, bound{"contention-32", 1}),
		beat(servers.Consul, 1, "api.Semaphore", bound{"semaphore-10", 20}),
		nobodyLeftOut(1),
	)
}

// everywhere is what holds on every store.
func everywhere() []Target {
	var all []Target
	for _, store := range servers.Names() {
		kib := 10.0
		if store == servers.Consul {
			kib = 20
		}
		for _, name := range []string{"drain-20", "drain-1"} {
			all = append(all,
				Target{Store: store, Members: 1, Case: name, What: "KiB of heap per waiter", find: own(heap), Bound: kib, Most: true},
				Target{Store: store, Members: 1, Case: name, What: "goroutines per waiter", find: own(goroutines), Bound: 2, Most: true})
		}
		for _, name := range []string{"contention-2", "contention-8", "contention-32", "contention-100", "drain-20", "drain-1", "semaphore-10", "readwrite"} {
			for _, members := range []int{1, 3} {
				all = append(all, Target{Store: store, Members: members, Case: name, What: "violations of order", find: own(violations), Most: true})
			}
		}
		for _, name := range []string{"contention-2", "contention-8", "contention-32", "contention-100"} {
			for _, members := range []int{1, 3} {
				all = append(all, Target{Store: store, Members: members, Case: name, What: "p99 of handoff over p50", find: own(tail), Bound: 5, Most: true})
			}
		}
	}
	return all
}

// clusters is what holds with three members: who is faster is so, too.
func clusters() []Target {
	all := slices.Concat(
		beat(servers.Etcd, 3, contest.Floor, bound{"uncontended", 0.97}, bound{"contention-2", 1}, bound{"contention-8", 1}, bound{"contention-32", 1}),
		beat(servers.Etcd, 3, "Mutex", bound{"contention-2", 15}, bound{"contention-8", 1}, bound{"contention-32", 2},
			bound{"drain-20", 1}, bound{"drain-1", 1}, bound{"keys-64", 1}),
		beat(servers.Etcd, 3, "Election", bound{"election", 1}),
	)
	for _, side := range []string{"zk.Lock", "Curator", "kazoo"} {
		all = append(all, beat(servers.ZooKeeper, 3, side, bound{"uncontended", 1}, bound{"contention-2", 1}, bound{"contention-8", 1},
			bound{"contention-32", 1}, bound{"drain-20", 1}, bound{"drain-1", 1}, bound{"keys-64", 1})...)
	}
	all = slices.Concat(all,
		beat(servers.Consul, 3, reused, bound{"uncontended", 1}, bound{"drain-20", 1}, bound{"keys-64", 1}),
		beat(servers.Consul, 3, contest.Floor, bound{"uncontended", 0.97}, bound{"contention-2", 1}, bound{"contention-8", 1}, bound{"contention-32", 1}),
		beat(servers.Consul, 3, "api.Semaphore", bound{"semaphore-10", 1}),
	)
	return append(all, nobodyLeftOut(3)...)
}

// nobodyLeftOut is what holds on Consul, where locks are not fair by themselves.
func nobodyLeftOut(members int) []Target {
	var all []Target
	for _, name := range []string{"contention-2", "contention-8", "contention-32"} {
		all = append(all, Target{Store: servers.Consul, Members: members, Case: name, What: "sessions starved", find: own(starved), Most: true})
	}
	return append(all, Target{Store: servers.Consul, Members: members, Case: "failover", What: "TTL, at the most", find: own(worst), Bound: 2, Most: true})
}
