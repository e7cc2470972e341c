package testserver

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

var noFsync = []string{"--unsafe-no-fsync"}

func TestSingleServes(t *testing.T) {
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

func TestCloseRemovesAll(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	cluster, err := NewEtcd(patient(t), EtcdOptions{Members: 3, ExtraArgs: noFsync})
	must(t, err)
	must(t, cluster.Member(0).Freeze())
	must(t, cluster.Member(1).Kill())
	for range 2 {
		must(t, cluster.Close())
	}
	for i, m := range cluster.Members {
		if !gone(m.PID()) {
			t.Errorf("member %d is there after Close", i)
		}
		if err := m.Restart(); !errors.Is(err, errClosed) {
			t.Errorf("member %d: Restart after Close: %v, want %v", i, err, errClosed)
		}
	}
	if isAt(cluster.dir.lock, cluster.dir.path) {
		t.Errorf("%s is there after Close", cluster.dir.path)
	}
}

func TestSurvivesARestart(t *testing.T) {
	cluster := StartEtcd(t, EtcdOptions{})
	client := connect(t, cluster.ClientConfig())
	put(t, client, "k", "v")
	m := cluster.Member(0)
	must(t, m.Kill())
	if err := m.WaitHealthy(patient(t)); !errors.Is(err, errKilled) {
		t.Errorf("WaitHealthy of a killed member: %v, want %v", err, errKilled)
	}
	if err := cluster.WaitHealthy(patient(t)); !errors.Is(err, errKilled) {
		t.Errorf("WaitHealthy of a killed cluster: %v, want %v", err, errKilled)
	}
	must(t, m.Restart())
	must(t, cluster.WaitHealthy(patient(t)))
	mustGet(t, client, "k", "v")
}

// Whoever has the port without reserving it, the cluster goes elsewhere.
func TestTakenPortIsGivenUp(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer other.Close()
	reserved := 0
	cluster, err := newEtcd(patient(t), EtcdOptions{Members: 3, ExtraArgs: noFsync}, func() (*reservedPort, error) {
		port, err := reservePort()
		if reserved++; reserved == 1 && err == nil {
			port.number = other.Addr().(*net.TCPAddr).Port
		}
		return port, err
	})
	must(t, err)
	defer func() { must(t, cluster.Close()) }()
	if reserved != 12 {
		t.Errorf("reserved %d ports, want 6 for each of two attempts", reserved)
	}
}

func TestTLSDemandsAClientCertificate(t *testing.T) {
	cluster := StartEtcd(t, EtcdOptions{TLS: true, ExtraArgs: noFsync})
	client := connect(t, cluster.ClientConfig())
	put(t, client, "k", "v")
	mustGet(t, client, "k", "v")
	if leader, err := cluster.Leader(patient(t)); leader != 0 || err != nil {
		t.Errorf("Leader: %d, %v", leader, err)
	}

	none, err := cluster.TLS.Config()
	must(t, err)
	none.Certificates = nil
	foreign := none.Clone()
	strangers, err := newServerTLS(t.TempDir())
	must(t, err)
	pair, err := tls.LoadX509KeyPair(strangers.ClientCert, strangers.ClientKey)
	must(t, err)
	// Unasked, as a polite client keeps back what the server will not take.
	foreign.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	for name, config := range map[string]*tls.Config{"no certificate": none, "a stranger's certificate": foreign} {
		if err := refusal(t, cluster.Member(0).Endpoint(), config); !strings.Contains(err.Error(), "remote error: tls:") {
			t.Errorf("a client with %s: %v, expected that the server refuses it", name, err)
		}
	}
}

// refusal connects and returns why the server ends the connection. It does so on
// the first read, as the client's handshake is complete before the server has
// seen the certificate.
func refusal(t *testing.T, endpoint string, config *tls.Config) error {
	t.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(endpoint, "https://"), config)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = conn.Read(make([]byte, 1))
	if err == nil {
		t.Fatal("the server talks to a client it should refuse")
	}
	return err
}

func TestAuthentication(t *testing.T) {
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

func TestOptionsAreChecked(t *testing.T) {
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
