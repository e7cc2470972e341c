package testserver

import (
	"context"
	"testing"
	"time"
)

// startTimeout bounds the start of a test's servers, a cold build included.
const startTimeout = 8 * time.Minute

// StartEtcd starts a cluster for a test and returns when every member serves. It
// fails the test if it cannot. The cluster is closed when the test and its
// subtests end; if the test has failed by then, its log gets the last lines of
// the members' logs.
func StartEtcd(t testing.TB, opts EtcdOptions) *Etcd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	cluster, err := NewEtcd(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for i, m := range cluster.Members {
				t.Logf("etcd member %d said last:\n%s", i, m.LogTail())
			}
		}
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}
