package losstest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord"
	_ "github.com/coordkit/coordkit/drivers/etcd"
	"github.com/coordkit/coordkit/internal/losstest"
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
func links(t *testing.T, etcd *testserver.Etcd) []losstest.Cut {
	t.Helper()
	var targets []string
	for _, e := range etcd.Endpoints() {
		targets = append(targets, strings.TrimPrefix(e, "http://"))
	}
	var cuts []losstest.Cut
	for _, d := range []netfault.Direction{netfault.Both, netfault.Up, netfault.Down} {
		group, err := netfault.NewGroup(targets...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { group.Close() })
		cuts = append(cuts, losstest.Cut{
			Name:   "link frozen, " + map[netfault.Direction]string{netfault.Both: "both ways", netfault.Up: "client to server", netfault.Down: "server to client"}[d],
			Holder: dial(t, etcdTTL, group.Addrs()...),
			Next:   dial(t, etcdTTL, etcd.Endpoints()...),
			Cut:    func() error { group.Freeze(d); return nil },
			Heal:   group.Heal,
		})
	}
	return cuts
}

func TestEtcdSingle(t *testing.T) {
	etcd := testserver.StartEtcd(t, testserver.EtcdOptions{})
	server := etcd.Member(0)
	var all []losstest.Margins
	for _, cut := range links(t, etcd) {
		all = append(all, losstest.Run(t, cut, locks, time.Minute))
	}
	nothing := func() error { return nil }
	for _, cut := range []losstest.Cut{
		{Name: "server frozen beyond the TTL", Cut: server.Freeze, WhileCut: server.Thaw, Heal: nothing},
		{Name: "server killed and restarted", Cut: server.Kill, WhileCut: server.Restart, Heal: nothing},
	} {
		cut.Holder, cut.Next = dial(t, etcdTTL, etcd.Endpoints()...), dial(t, patient, etcd.Endpoints()...)
		all = append(all, losstest.Run(t, cut, locks, time.Minute))
	}
	losstest.Show(t, "etcd, single: margins", all)
}

func TestEtcdThreeMembers(t *testing.T) {
	etcd := testserver.StartEtcd(t, testserver.EtcdOptions{Members: 3})
	var all []losstest.Margins
	for _, cut := range links(t, etcd) {
		all = append(all, losstest.Run(t, cut, locks, time.Minute))
	}
	for _, fault := range []struct {
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
		if !fault.leader {
			victim = (leader + 1) % 3
		}
		member := etcd.Member(victim)
		var others []string
		for i, e := range etcd.Endpoints() {
			if i != victim {
				others = append(others, e)
			}
		}
		all = append(all, losstest.Run(t, losstest.Cut{
			Name:   fault.name,
			Holder: dial(t, etcdTTL, member.Endpoint()),
			Next:   dial(t, etcdTTL, others...),
			Cut:    func() error { return fault.cut(member) },
			Heal: func() error {
				if err := fault.heal(member); err != nil {
					return err
				}
				return etcd.WaitHealthy(t.Context())
			},
		}, locks, time.Minute))
	}
	losstest.Show(t, "etcd, three members: margins", all)
}

func kill(m *testserver.EtcdMember) error    { return m.Kill() }
func restart(m *testserver.EtcdMember) error { return m.Restart() }
func freeze(m *testserver.EtcdMember) error  { return m.Freeze() }
func thaw(m *testserver.EtcdMember) error    { return m.Thaw() }
