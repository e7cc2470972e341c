package main

import (
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/internal/testserver"
)

// The commands of the package comment do as they stand, on servers with the
// settings that they are shipped with.
func TestServersAsTheyAreShipped(t *testing.T) {
	t.Run("etcd", func(t *testing.T) {
		etcd := testserver.StartEtcd(t, testserver.EtcdOptions{Heartbeat: 100 * time.Millisecond, ElectionTimeout: time.Second})
		tell(t, storeURL("etcd", etcd.Endpoints(), nil))
		etcdEmpty(t, etcd)
	})
	t.Run("zk", func(t *testing.T) {
		z := testserver.StartZooKeeper(t, testserver.ZooKeeperOptions{TickTime: 2 * time.Second})
		tell(t, storeURL("zk", z.Endpoints(), nil))
		zooKeeperEmpty(t, z)
	})
	t.Run("consul", func(t *testing.T) {
		consul := testserver.StartConsul(t, testserver.ConsulOptions{})
		tell(t, storeURL("consul", consul.Endpoints(), nil))
		consulEmpty(t, consul)
	})
}

// tell runs the program with no other setting than the store.
func tell(t *testing.T, store string) {
	t.Helper()
	got := execute(t, t.Context(), io.Discard, "-store", store)
	checkStory(t, got, 9)
	t.Log(got.out)
}

// Several hosts, and certificates that must still fit behind the proxies.
func TestEnsembleWithTLS(t *testing.T) {
	z := testserver.StartZooKeeper(t, testserver.ZooKeeperOptions{Members: 3, TLS: true})
	store := storeURL("zk", z.Endpoints(), withTLS(z.TLS))
	checkStory(t, execute(t, t.Context(), io.Discard, "-store", store, "-ttl", "5s"), 9)
	interrupted(t, "-store", store, "-ttl", "5s")
	zooKeeperEmpty(t, z)
}

func TestDatacenterWithTLSAndTokens(t *testing.T) {
	consul := testserver.StartConsul(t, testserver.ConsulOptions{Members: 3, SessionTTLMin: time.Second, TLS: true, ACL: true})
	t.Setenv("QUICKSTART_TOKEN", consul.Token)
	query := withTLS(consul.TLS)
	query.Set("token_env", "QUICKSTART_TOKEN")
	store := storeURL("consul", consul.Endpoints(), query)
	checkStory(t, execute(t, t.Context(), io.Discard, "-store", store, "-ttl", "5s"), 9)
	interrupted(t, "-store", store, "-ttl", "5s")
	consulEmpty(t, consul)
}

func storeURL(scheme string, endpoints []string, query url.Values) string {
	var hosts []string
	for _, endpoint := range endpoints {
		hosts = append(hosts, endpoint[strings.LastIndex(endpoint, "/")+1:])
	}
	return scheme + "://" + strings.Join(hosts, ",") + "/demo?" + query.Encode()
}

func withTLS(files *testserver.TLSFiles) url.Values {
	return url.Values{"tls_ca": {files.CA}, "tls_cert": {files.ClientCert}, "tls_key": {files.ClientKey}}
}

// zooKeeperEmpty checks that no session is left, and so no ephemeral node. The
// servers are asked until they all have heard of the last one's end.
func zooKeeperEmpty(t *testing.T, z *testserver.ZooKeeper) {
	t.Helper()
	for i, m := range z.Members {
		var left []string
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			left = nil
			// As "Sessions with Ephemerals (0):".
			text, err := m.FourLetter(t.Context(), "dump")
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, "0x") || strings.HasPrefix(strings.TrimSpace(line), "/demo") {
					left = append(left, strings.TrimSpace(line))
				}
			}
			if len(left) == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("left at member %d: %q", i, left)
				break
			}
		}
	}
}

// consulEmpty checks that no key and no session is left.
func consulEmpty(t *testing.T, consul *testserver.Consul) {
	t.Helper()
	config := api.DefaultConfig()
	config.Address, config.Token = consul.Member(0).Endpoint(), consul.Token
	if files := consul.TLS; files != nil {
		config.TLSConfig = api.TLSConfig{CAFile: files.CA, CertFile: files.ClientCert, KeyFile: files.ClientKey}
	}
	client, err := api.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	defer config.HttpClient.CloseIdleConnections()
	now := &api.QueryOptions{RequireConsistent: true}
	keys, _, err := client.KV().Keys("", "", now)
	if err != nil {
		t.Fatal(err)
	}
	sessions, _, err := client.Session().List(now)
	if err != nil {
		t.Fatal(err)
	}
	if len(keys)+len(sessions) > 0 {
		t.Errorf("left in the store: keys %v, sessions %v", keys, sessions)
	}
}
