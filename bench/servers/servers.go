// Package servers starts the stores that a contest takes place on: real servers
// with their data on disk, which write it through before they answer.
package servers

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/coordkit/coordkit/bench/wire"
	"github.com/coordkit/coordkit/internal/testserver"
)

// Names of the stores.
const (
	Etcd      = "etcd"
	ZooKeeper = "zk"
	Consul    = "consul"
)

// Names lists the stores.
func Names() []string { return []string{Etcd, ZooKeeper, Consul} }

var releaseNames = map[string]string{Etcd: "etcd", ZooKeeper: "zookeeper", Consul: "consul"}

// Store is running servers.
type Store struct {
	Name string
	// Version is the servers', such as "v3.7.3".
	Version string
	Hosts   []string // as host:port, one for each member
	// TLS is what clients need; nil without TLS.
	TLS *testserver.TLSFiles

	// Commits is how many writes the servers have agreed on so far, by their own
	// count.
	Commits func(ctx context.Context) (int64, error)
	// Syncs is how often the servers have written to their disks so far, all
	// together; nil if they are not asked.
	Syncs func(ctx context.Context) (int64, error)
	// Reader counts what their clients ask.
	Reader wire.Reader

	cluster
}

type cluster interface {
	Endpoints() []string
	Close() error
}

// Start starts a store with one or three members, with the settings that it is
// shipped with but for what is said at each, whatever the tests' servers have for
// speed. With TLS they demand a certificate of their clients; among each other
// members do without. ctx bounds the start.
func Start(ctx context.Context, name string, members int, tls bool) (*Store, error) {
	s := &Store{Name: name}
	releases, err := testserver.Releases(ctx, io.Discard, releaseNames[name])
	if err != nil {
		return nil, err
	}
	for _, r := range releases {
		s.Version = r.Version
	}
	switch name {
	case Etcd:
		err = s.startEtcd(ctx, members, tls)
	case ZooKeeper:
		err = s.startZooKeeper(ctx, members, tls)
	case Consul:
		err = s.startConsul(ctx, members, tls)
	default:
		err = fmt.Errorf("store %q: there are %s", name, strings.Join(Names(), ", "))
	}
	if err != nil {
		return nil, err
	}
	for _, e := range s.Endpoints() {
		s.Hosts = append(s.Hosts, e[strings.LastIndexByte(e, '/')+1:]) // without the scheme, if there is one
	}
	return s, nil
}

func (s *Store) startEtcd(ctx context.Context, members int, tls bool) error {
	etcd, err := testserver.NewEtcd(ctx, testserver.EtcdOptions{
		Members:         members,
		Heartbeat:       100 * time.Millisecond,
		ElectionTimeout: time.Second,
		TLS:             tls,
	})
	if err != nil {
		return err
	}
	s.cluster, s.TLS, s.Reader = etcd, etcd.TLS, wire.GRPC
	s.Commits = func(ctx context.Context) (int64, error) { return etcdIndex(ctx, etcd) }
	return nil
}

func (s *Store) startZooKeeper(ctx context.Context, members int, tls bool) error {
	zk, err := testserver.NewZooKeeper(ctx, testserver.ZooKeeperOptions{
		Members:   members,
		TickTime:  2 * time.Second,
		TLS:       tls,
		JavaFlags: []string{"-Xmx1000m"}, // as its own script has it
		ExtraConfig: map[string]string{
			"preAllocSize":   "65536",
			"maxClientCnxns": "0", // not limited, since all clients come from one address
		},
	})
	if err != nil {
		return err
	}
	s.cluster, s.TLS, s.Reader = zk, zk.TLS, wire.ZooKeeper
	s.Commits = func(ctx context.Context) (int64, error) { return zookeeperIndex(ctx, zk) }
	s.Syncs = func(ctx context.Context) (int64, error) { return zookeeperSyncs(ctx, zk) }
	return nil
}

func (s *Store) startConsul(ctx context.Context, members int, tls bool) error {
	consul, err := testserver.NewConsul(ctx, testserver.ConsulOptions{
		Members: members,
		TLS:     tls,
		ExtraConfig: map[string]any{
			"performance":   map[string]any{"raft_multiplier": 5},
			"raft_logstore": map[string]any{"wal": map[string]any{"segment_size_mb": 64}},
			// As good as not limited, since all clients come from one address.
			"limits": map[string]any{"http_max_conns_per_client": 10_000},
		},
	})
	if err != nil {
		return err
	}
	s.cluster, s.TLS, s.Reader = consul, consul.TLS, wire.HTTP
	s.Commits = func(context.Context) (int64, error) { return consulIndex(consul) }
	return nil
}

// FailoverTTL is the TTL of the leaders who are killed: short, and one that the
// store grants by default, or would with its usual tick.
func (s *Store) FailoverTTL() time.Duration {
	switch s.Name {
	case Etcd:
		return 2 * time.Second
	case Consul:
		return 10 * time.Second
	}
	return 4 * time.Second
}
