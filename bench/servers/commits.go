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
	for line := range strings.Lines(answer) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "Zxid: 0x"); ok {
			zxid, err := strconv.ParseUint(text, 16, 64)
			return int64(zxid & (1<<32 - 1)), err
		}
	}
	return 0, fmt.Errorf("no Zxid in %q", answer)
}

// zookeeperSyncs is how often the servers have written their logs to the disk. What
// reaches one while it does so shares the next time.
func zookeeperSyncs(ctx context.Context, zk *testserver.ZooKeeper) (sum int64, err error) {
	for _, m := range zk.Members {
		answer, err := m.FourLetter(ctx, "mntr")
		if err != nil {
			return 0, err
		}
		_, rest, ok := strings.Cut(answer, "zk_cnt_fsynctime\t")
		if !ok {
			return 0, fmt.Errorf("no zk_cnt_fsynctime in %q", answer)
		}
		count, _, _ := strings.Cut(rest, "\n")
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// consulIndex is the length of Consul's log.
func consulIndex(consul *testserver.Consul) (int64, error) {
	c, err := api.NewClient(&api.Config{Address: consul.Endpoints()[0]})
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
