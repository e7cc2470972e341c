package testserver

import (
	"context"
	"strings"
	"testing"
	"time"
)

// startTimeout bounds the start of a test's servers, a cold build included if the
// machine has nothing else to do. An interrupted build goes on where it was.
const startTimeout = 8 * time.Minute

// StartEtcd starts a cluster for a test and returns when every member serves. It
// fails the test if it cannot. The cluster is closed when the test and its
// subtests end; if the test has failed by then, its log gets the last lines of
// the members' logs.
func StartEtcd(t testing.TB, opts EtcdOptions) *Etcd {
	t.Helper()
	return start(t, NewEtcd, opts)
}

// StartConsul does for Consul what [StartEtcd] does for etcd.
func StartConsul(t testing.TB, opts ConsulOptions) *Consul {
	t.Helper()
	return start(t, NewConsul, opts)
}

// StartZooKeeper does for ZooKeeper what [StartEtcd] does for etcd.
func StartZooKeeper(t testing.TB, opts ZooKeeperOptions) *ZooKeeper {
	t.Helper()
	return start(t, NewZooKeeper, opts)
}

// StartPostgres does for PostgreSQL what [StartEtcd] does for etcd.
func StartPostgres(t testing.TB, opts PostgresOptions) *Postgres {
	t.Helper()
	return start(t, NewPostgres, opts)
}

// StartMariaDB does for MariaDB what [StartEtcd] does for etcd.
func StartMariaDB(t testing.TB, opts MariaDBOptions) *MariaDB {
	t.Helper()
	return start(t, NewMariaDB, opts)
}

// StartPgBouncer does for PgBouncer what [StartEtcd] does for etcd.
func StartPgBouncer(t testing.TB, postgres *Postgres, opts PgBouncerOptions) *PgBouncer {
	t.Helper()
	newPgBouncer := func(ctx context.Context, opts PgBouncerOptions) (*PgBouncer, error) {
		return NewPgBouncer(ctx, postgres, opts)
	}
	return start(t, newPgBouncer, opts)
}

func start[Server interface{ closeAfter(testing.TB) }, Options any](t testing.TB, newServer func(context.Context, Options) (Server, error), opts Options) Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	server, err := newServer(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	server.closeAfter(t)
	return server
}

// closeAfter closes the cluster when the test ends.
func (c *cluster) closeAfter(t testing.TB) {
	t.Cleanup(func() {
		if t.Failed() {
			const enough = 10 // or the failure is hard to find among them
			for _, m := range c.members {
				lines := strings.Split(m.LogTail(), "\n")
				t.Logf("%s said last:\n%s", m.command.name, strings.Join(lines[max(0, len(lines)-enough):], "\n"))
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
