package testserver

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// store is a store as the tests see it that hold for all of them.
type store struct {
	name  string
	most  int // members
	ports int // per member
	start func(ctx context.Context, members int, reserve reserver) (fixture, error)
	// broken starts one that cannot start, as it does not know the option
	// no-such-option.
	broken func(ctx context.Context) error
}

var stores = []store{{
	name:  "etcd",
	most:  3,
	ports: 2,
	start: func(ctx context.Context, members int, reserve reserver) (fixture, error) {
		e, err := newEtcd(ctx, EtcdOptions{Members: members, ExtraArgs: noFsync}, reserve)
		if err != nil {
			return fixture{}, err
		}
		return fixture{e.cluster, etcdKV{e}}, nil
	},
	broken: func(ctx context.Context) error {
		_, err := NewEtcd(ctx, EtcdOptions{ExtraArgs: []string{"--no-such-option"}})
		return err
	},
}, {
	name:  "consul",
	most:  3,
	ports: 3,
	start: func(ctx context.Context, members int, reserve reserver) (fixture, error) {
		c, err := newConsul(ctx, ConsulOptions{Members: members}, reserve)
		if err != nil {
			return fixture{}, err
		}
		return fixture{c.cluster, consulKV{c}}, nil
	},
	broken: func(ctx context.Context) error {
		_, err := NewConsul(ctx, ConsulOptions{ExtraConfig: map[string]any{"no-such-option": true}})
		return err
	},
}, {
	name:  "zookeeper",
	most:  3,
	ports: 3,
	start: func(ctx context.Context, members int, reserve reserver) (fixture, error) {
		z, err := newZooKeeper(ctx, ZooKeeperOptions{Members: members}, reserve)
		if err != nil {
			return fixture{}, err
		}
		return fixture{z.cluster, zookeeperKV{z}}, nil
	},
	broken: func(ctx context.Context) error {
		_, err := NewZooKeeper(ctx, ZooKeeperOptions{ExtraConfig: map[string]string{"metricsProvider.className": "no-such-option"}})
		return err
	},
}, {
	name:  "postgres",
	most:  2,
	ports: 1,
	start: func(ctx context.Context, members int, reserve reserver) (fixture, error) {
		p, err := newPostgres(ctx, PostgresOptions{Standby: members > 1}, reserve)
		if err != nil {
			return fixture{}, err
		}
		return fixture{p.cluster, sqlKV{&p.databases}}, nil
	},
	broken: func(ctx context.Context) error {
		_, err := NewPostgres(ctx, PostgresOptions{ExtraConfig: map[string]string{"timezone": "no-such-option"}})
		return err
	},
}, {
	name:  "mariadb",
	most:  1,
	ports: 1,
	start: func(ctx context.Context, _ int, reserve reserver) (fixture, error) {
		m, err := newMariaDB(ctx, MariaDBOptions{}, reserve)
		if err != nil {
			return fixture{}, err
		}
		return fixture{m.cluster, sqlKV{&m.databases}}, nil
	},
	broken: func(ctx context.Context) error {
		_, err := NewMariaDB(ctx, MariaDBOptions{ExtraConfig: map[string]string{"no-such-option": ""}})
		return err
	},
}}

// forEachStore runs a test that holds for all stores.
func forEachStore(t *testing.T, test func(t *testing.T, s store)) {
	for _, s := range stores {
		t.Run(s.name, func(t *testing.T) { test(t, s) })
	}
}

// fixture is a cluster of any store, with the way to use it.
type fixture struct {
	*cluster
	kv kv
}

// kv writes and reads through one member alone. What it reads is what that
// member has, or the latest there is.
type kv interface {
	put(ctx context.Context, member int, key, value string) error
	get(ctx context.Context, member int, key string) (string, error)
}

func begin(t *testing.T, s store, members int) fixture {
	t.Helper()
	f, err := s.start(patient(t), members, reservePort)
	must(t, err)
	f.closeAfter(t)
	return f
}

func (f fixture) put(t *testing.T, member int, key, value string) {
	t.Helper()
	if err := f.kv.put(patient(t), member, key, value); err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
}

func (f fixture) mustGet(t *testing.T, member int, key, want string) {
	t.Helper()
	got, err := f.kv.get(patient(t), member, key)
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	if got != want {
		t.Fatalf("get %s: got %q, want %q", key, got, want)
	}
}

type etcdKV struct{ *Etcd }

func (e etcdKV) client(member int) (*clientv3.Client, error) {
	config := e.ClientConfig()
	config.Endpoints = []string{e.Member(member).Endpoint()}
	return clientv3.New(config)
}

func (e etcdKV) put(ctx context.Context, member int, key, value string) error {
	client, err := e.client(member)
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = client.Put(ctx, key, value)
	return err
}

func (e etcdKV) get(ctx context.Context, member int, key string) (string, error) {
	client, err := e.client(member)
	if err != nil {
		return "", err
	}
	defer client.Close()
	resp, err := client.Get(ctx, key)
	if err != nil || len(resp.Kvs) == 0 {
		return "", err
	}
	return string(resp.Kvs[0].Value), nil
}

type consulKV struct{ *Consul }

func (c consulKV) put(ctx context.Context, member int, key, value string) error {
	_, err := c.request(ctx, http.MethodPut, member, "/v1/kv/"+key, value)
	return err
}

func (c consulKV) get(ctx context.Context, member int, key string) (string, error) {
	return c.request(ctx, http.MethodGet, member, "/v1/kv/"+key+"?raw&stale", "")
}

// request returns the body of an answer with status 200.
func (c consulKV) request(ctx context.Context, method string, member int, path, body string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.Member(member).Endpoint()+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	if c.Token != "" {
		request.Header.Set("X-Consul-Token", c.Token)
	}
	response, err := c.newProbe("", "").client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", response.Status, text)
	}
	return string(text), nil
}

type zookeeperKV struct{ *ZooKeeper }

// Operation codes, and the access control list world:anyone with all rights, as
// of zookeeper.jute and ZooDefs.
const (
	opCreate  = 1
	opGetData = 4
	opAuth    = 100
)

var openToAll = slicesOf(juteInt(1), juteInt(31), juteBuffer("world"), juteBuffer("anyone"))

func (z zookeeperKV) put(ctx context.Context, member int, key, value string) error {
	const persistent = 0
	_, err := z.call(ctx, member, opCreate, slicesOf(juteBuffer("/"+key), juteBuffer(value), openToAll, juteInt(persistent)))
	return err
}

func (z zookeeperKV) get(ctx context.Context, member int, key string) (string, error) {
	reply, err := z.call(ctx, member, opGetData, slicesOf(juteBuffer("/"+key), []byte{0}))
	if err != nil {
		return "", err
	}
	n := binary.BigEndian.Uint32(reply)
	return string(reply[4 : 4+n]), nil
}

// call makes one request in a session of its own.
func (z zookeeperKV) call(ctx context.Context, member int, op int32, body []byte) ([]byte, error) {
	conn, err := dialZooKeeper(ctx, z.Member(member).Endpoint(), z.tlsConfig)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.open(); err != nil {
		return nil, err
	}
	reply, err := conn.call(op, body)
	if err != nil {
		return nil, err
	}
	_, err = conn.call(opCloseSession, nil)
	return reply, err
}

func juteInt(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

func juteBuffer(s string) []byte { return append(juteInt(uint32(len(s))), s...) }

func slicesOf(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// sqlKV keeps keys and values in a table.
type sqlKV struct{ *databases }

func (s sqlKV) put(ctx context.Context, member int, key, value string) error {
	_, err := s.Member(member).Query(ctx, Owner,
		"CREATE TABLE IF NOT EXISTS kv (name varchar(100) PRIMARY KEY, value text)",
		fmt.Sprintf("DELETE FROM kv WHERE name = '%s'", key),
		fmt.Sprintf("INSERT INTO kv VALUES ('%s', '%s')", key, value))
	return err
}

func (s sqlKV) get(ctx context.Context, member int, key string) (string, error) {
	return s.Member(member).Query(ctx, Owner, fmt.Sprintf("SELECT value FROM kv WHERE name = '%s'", key))
}
