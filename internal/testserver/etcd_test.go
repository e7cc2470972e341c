package testserver

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

var noFsync = []string{"--unsafe-no-fsync"}

func TestEtcdServes(t *testing.T) {
	cluster := StartEtcd(t, EtcdOptions{})
	client := connect(t, cluster.ClientConfig())
	put(t, client, "k", "v")
	mustGet(t, client, "k", "v")

	status, err := client.Status(patient(t), cluster.Member(0).Endpoint())
	must(t, err)
	if status.Version != "3.7.3" {
		t.Errorf("the server is etcd %s, want the pinned 3.7.3", status.Version)
	}
	if leader, err := cluster.Leader(patient(t)); leader != 0 || err != nil {
		t.Errorf("Leader: %d, %v", leader, err)
	}
	lease, err := client.Grant(patient(t), 1)
	must(t, err)
	if lease.TTL != 1 {
		t.Errorf("a lease of 1 s was granted for %d s", lease.TTL)
	}
}

func TestEtcdDemandsAClientCertificate(t *testing.T) {
	cluster := StartEtcd(t, EtcdOptions{TLS: true, ExtraArgs: noFsync})
	client := connect(t, cluster.ClientConfig())
	put(t, client, "k", "v")
	mustGet(t, client, "k", "v")
	if leader, err := cluster.Leader(patient(t)); leader != 0 || err != nil {
		t.Errorf("Leader: %d, %v", leader, err)
	}

	refusesStrangers(t, cluster.TLS, strings.TrimPrefix(cluster.Member(0).Endpoint(), "https://"))
}

func TestEtcdAuthentication(t *testing.T) {
	cluster := StartEtcd(t, EtcdOptions{AuthTokenTTL: 2 * time.Second, ExtraArgs: append([]string{"--bcrypt-cost=4"}, noFsync...)})
	admin := connect(t, cluster.ClientConfig())
	ctx := patient(t)
	_, err := admin.UserAdd(ctx, "root", "secret")
	must(t, err)
	_, err = admin.UserGrantRole(ctx, "root", "root")
	must(t, err)
	_, err = admin.AuthEnable(ctx)
	must(t, err)
	if _, err := admin.Get(ctx, "k"); !errors.Is(err, rpctypes.ErrUserEmpty) {
		t.Errorf("get without credentials: %v, want %v", err, rpctypes.ErrUserEmpty)
	}

	cluster.SetAuth("root", "secret")
	must(t, cluster.WaitHealthy(ctx))
	if leader, err := cluster.Leader(ctx); leader != 0 || err != nil {
		t.Errorf("Leader: %d, %v", leader, err)
	}
	put(t, connect(t, cluster.ClientConfig()), "k", "v")
	must(t, cluster.Member(0).Restart())
	must(t, cluster.WaitHealthy(ctx))
}

func TestEtcdOptionsAreChecked(t *testing.T) {
	for _, c := range []struct {
		opts EtcdOptions
		want string
	}{
		{EtcdOptions{Members: 2}, "Members is 2"},
		{EtcdOptions{Heartbeat: time.Microsecond}, "Heartbeat is 1µs"},
		{EtcdOptions{ElectionTimeout: 100 * time.Millisecond}, "ElectionTimeout is 100ms"},
		{EtcdOptions{ElectionTimeout: time.Second + 1}, "ElectionTimeout is 1.000000001s"},
		{EtcdOptions{AuthTokenTTL: time.Millisecond}, "AuthTokenTTL is 1ms"},
	} {
		if _, err := NewEtcd(t.Context(), c.opts); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, expected %q", c.opts, err, c.want)
		}
	}
}
