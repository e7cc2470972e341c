package storetest

import (
	"testing"

	"github.com/coordkit/coordkit/internal/testserver"
)

// locks is how many trials of each fault there are.
const locks = 10

func TestLossOnEtcdSingle(t *testing.T) {
	t.Parallel()
	s := startEtcd(t, testserver.EtcdOptions{})
	showMargins(t, "etcd, single: margins", lossOnSingle(t, s, locks))
}

func TestLossOnEtcdThreeMembers(t *testing.T) {
	t.Parallel()
	s := startEtcd(t, testserver.EtcdOptions{Members: 3})
	showMargins(t, "etcd, three members: margins", lossOnThree(t, s, locks))
}

func TestLossOnZooKeeperSingle(t *testing.T) {
	t.Parallel()
	s := startZooKeeper(t, testserver.ZooKeeperOptions{})
	showMargins(t, "ZooKeeper, single: margins", lossOnSingle(t, s, locks))
}

func TestLossOnZooKeeperThreeMembers(t *testing.T) {
	t.Parallel()
	p := newPartition(t)
	s := startZooKeeper(t, testserver.ZooKeeperOptions{Members: 3, PeerAddr: p.way})
	showMargins(t, "ZooKeeper, three members: margins", lossOnThree(t, s, locks,
		memberFault{name: "its member isolated, a follower", cut: p.isolate, heal: p.heal},
		memberFault{name: "its member isolated, the leader", leader: true, cut: p.isolate, heal: p.heal}))
}

func TestLossOnConsulSingle(t *testing.T) {
	t.Parallel()
	s := startConsul(t, testserver.ConsulOptions{SessionTTLMin: consulTTL})
	showMargins(t, "Consul, single: margins", lossOnSingle(t, s, locks))
}

func TestLossOnConsulThreeMembers(t *testing.T) {
	t.Parallel()
	s := startConsul(t, testserver.ConsulOptions{Members: 3, SessionTTLMin: consulTTL})
	showMargins(t, "Consul, three members: margins", lossOnThree(t, s, locks))
}

// With the shortest TTL that Consul grants unless told otherwise.
func TestLossOnConsulDefaultTTL(t *testing.T) {
	t.Parallel()
	s := startConsul(t, testserver.ConsulOptions{Dev: true})
	s.ttl = consulDefaultTTL
	showMargins(t, "Consul, default session_ttl_min: margins", lossOnLinks(t, s, 2))
}
