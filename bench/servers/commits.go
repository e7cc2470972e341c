package servers

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/consul/api"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coordkit/coordkit/internal/testserver"
)

// etcdIndex is the length of etcd's log, of which reads are no part.
func etcdIndex(ctx context.Context, etcd *testserver.Etcd) (int64, error) {
	c, err := clientv3.New(etcd.ClientConfig())
	if err != nil {
		return 0, err
	}
	defer c.Close()
	status, err := c.Status(ctx, etcd.Endpoints()[0])
	if err != nil {
		return 0, err
	}
	return int64(status.RaftIndex), nil
}

// zookeeperIndex is the number of the last transaction. Its upper half counts the
// leaders.
func zookeeperIndex(ctx context.Context, zk *testserver.ZooKeeper) (int64, error) {
	answer, err := zk.Members[0].FourLetter(ctx, "srvr")
	if err != nil {
		return 0, err
	}
	zxid, err := after("Zxid: 0x", answer, 16)
	return zxid & (1<<32 - 1), err
}

// zookeeperSyncs is how often the servers have written their logs to the disk. What
// reaches one while it does so shares the next time.
func zookeeperSyncs(ctx context.Context, zk *testserver.ZooKeeper) (sum int64, err error) {
	for _, m := range zk.Members {
		answer, err := m.FourLetter(ctx, "mntr")
		if err != nil {
			return 0, err
		}
		n, err := after("zk_cnt_fsynctime\t", answer, 10)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// after is the number that follows a word in an answer of ZooKeeper's.
func after(word, answer string, base int) (int64, error) {
	_, rest, ok := strings.Cut(answer, word)
	if !ok {
		return 0, fmt.Errorf("no %q in %q", word, answer)
	}
	number, _, _ := strings.Cut(rest, "\n")
	return strconv.ParseInt(strings.TrimSpace(number), base, 64)
}

// consulIndex is the length of Consul's log.
func consulIndex(consul *testserver.Consul) (int64, error) {
	config := &api.Config{Address: consul.Endpoints()[0]}
	if files := consul.TLS; files != nil {
		config.TLSConfig = api.TLSConfig{CAFile: files.CA, CertFile: files.ClientCert, KeyFile: files.ClientKey}
	}
	c, err := api.NewClient(config)
	if err != nil {
		return 0, err
	}
	self, err := c.Agent().Self()
	if err != nil {
		return 0, err
	}
	raft, _ := self["Stats"]["raft"].(map[string]any)
	index, _ := raft["commit_index"].(string)
	return strconv.ParseInt(index, 10, 64)
}
