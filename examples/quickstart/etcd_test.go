package main

import (
	"io"
	"net/url"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coordkit/coordkit/internal/testserver"
)

func TestEtcd(t *testing.T) {
	etcd := testserver.StartEtcd(t, testserver.EtcdOptions{})
	store := storeURL("etcd", etcd.Endpoints(), nil)
	t.Run("story", func(t *testing.T) {
		checkStory(t, execute(t, t.Context(), io.Discard, "-store", store, "-ttl", "5s"), 9)
		etcdEmpty(t, etcd)
	})
	t.Run("interrupt", func(t *testing.T) {
		interrupted(t, "-store", store, "-ttl", "5s")
		etcdEmpty(t, etcd)
	})
}

// Several hosts, and certificates that must still fit behind the proxies.
func TestEtcdClusterWithTLS(t *testing.T) {
	etcd := testserver.StartEtcd(t, testserver.EtcdOptions{Members: 3, TLS: true})
	store := storeURL("etcd", etcd.Endpoints(), url.Values{
		"tls_ca":   {etcd.TLS.CA},
		"tls_cert": {etcd.TLS.ClientCert},
		"tls_key":  {etcd.TLS.ClientKey},
	})
	checkStory(t, execute(t, t.Context(), io.Discard, "-store", store, "-ttl", "5s"), 9)
	etcdEmpty(t, etcd)
}

// etcdEmpty checks that no key and no lease is left.
func etcdEmpty(t *testing.T, etcd *testserver.Etcd) {
	t.Helper()
	client, err := clientv3.New(etcd.ClientConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	keys, err := client.Get(t.Context(), "", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	leases, err := client.Leases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(keys.Kvs)+len(leases.Leases) > 0 {
		t.Errorf("left in the store: keys %v, leases %v", keys.Kvs, leases.Leases)
	}
}
