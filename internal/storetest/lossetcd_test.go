package storetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord"
	_ "github.com/coordkit/coordkit/drivers/etcd"
	"github.com/coordkit/coordkit/internal/testserver"
)

const (
	etcdTTL = 2 * time.Second
	patient = 30 * time.Second // the TTL of who shares a fault with the holder and must outlive it
	locks   = 10               // trials a fault
)

// dial opens a client on endpoints.
func dial(t *testing.T, ttl time.Duration, endpoints ...string) *coord.Client {
	t.Helper()
	hosts := strings.ReplaceAll(strings.Join(endpoints, ","), "http://", "")
	c, err := coord.Config{URL: "etcd://" + hosts + "/loss", SessionTTL: coord.Duration(ttl)}.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*etcdTTL)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

// links cuts the network between a holder and a whole cluster.
func links(t *testing.T, etcd *testserver.Etcd) []fault {
	t.Helper()
	var targets []string
	for _, e := range etcd.Endpoints() {
		targets = append(targets, strings.TrimPrefix(e, "http://"))
	}
	var cuts []fault
	for _, d := range []netfault.Direction{netfault.Both, netfault.Up, netfault.Down} {
		group, err := netfault.NewGroup(targets...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { group.Close() })
		cuts = append(cuts, fault{
			name:   "link frozen, " + map[netfault.Direction]string{netfault.Both: "both ways", netfault.Up: "client to server", netfault.Down: "server to client"}[d],
			holder: dial(t, etcdTTL, group.Addrs()...),
			next:   dial(t, etcdTTL, etcd.Endpoints()...),
			cut:    func() error { group.Freeze(d); return nil },
			heal:   group.Heal,
		})
	}
	return cuts
}

func TestLossOnEtcdSingle(t *testing.T) {
	etcd := testserver.StartEtcd(t, testserver.EtcdOptions{})
	server := etcd.Member(0)
	var all []margins
	for _, cut := range links(t, etcd) {
		all = append(all, tryLoss(t, cut, locks))
	}
	nothing := func() error { return nil }
	for _, cut := range []fault{
		{name: "server frozen beyond the TTL", cut: server.Freeze, whileCut: server.Thaw, heal: nothing},
		{name: "server killed and restarted", cut: server.Kill, whileCut: server.Restart, heal: nothing},
	} {
		cut.holder, cut.next = dial(t, etcdTTL, etcd.Endpoints()...), dial(t, patient, etcd.Endpoints()...)
		all = append(all, tryLoss(t, cut, locks))
	}
	showMargins(t, "etcd, single: margins", all)
}

func TestLossOnEtcdThreeMembers(t *testing.T) {
	etcd := testserver.StartEtcd(t, testserver.EtcdOptions{Members: 3})
	var all []margins
	for _, cut := range links(t, etcd) {
		all = append(all, tryLoss(t, cut, locks))
	}
	for _, f := range []struct {
		name   string
		leader bool
		cut    func(*testserver.EtcdMember) error
		heal   func(*testserver.EtcdMember) error
	}{
		{"its member killed, a follower", false, kill, restart},
		{"its member killed, the leader", true, kill, restart},
		{"its member frozen, a follower", false, freeze, thaw},
		{"the leader frozen beyond the TTL", true, freeze, thaw},
	} {
		leader, err := etcd.Leader(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		victim := leader
		if !f.leader {
			victim = (leader + 1) % 3
		}
		member := etcd.Member(victim)
		var others []string
		for i, e := range etcd.Endpoints() {
			if i != victim {
				others = append(others, e)
			}
		}
		all = append(all, tryLoss(t, fault{
			name:   f.name,
			holder: dial(t, etcdTTL, member.Endpoint()),
			next:   dial(t, etcdTTL, others...),
			cut:    func() error { return f.cut(member) },
			heal: func() error {
				if err := f.heal(member); err != nil {
					return err
				}
				return etcd.WaitHealthy(t.Context())
			},
		}, locks))
	}
	showMargins(t, "etcd, three members: margins", all)
}

func kill(m *testserver.EtcdMember) error    { return m.Kill() }
func restart(m *testserver.EtcdMember) error { return m.Restart() }
func freeze(m *testserver.EtcdMember) error  { return m.Freeze() }
func thaw(m *testserver.EtcdMember) error    { return m.Thaw() }
