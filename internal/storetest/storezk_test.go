package storetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"strings"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"

	_ "github.com/coordkit/coordkit/drivers/zk"
	"github.com/coordkit/coordkit/internal/testserver"
)

// zkTTL is clearly above the second, five ticks, after which servers notice
// that one of them is gone.
const zkTTL = 3 * time.Second

func startZooKeeper(t testing.TB, opts testserver.ZooKeeperOptions) *store {
	t.Helper()
	s := startFickleZooKeeper(t, opts)
	s.wantNothingLeft(t)
	return s
}

// startFickleZooKeeper does not look what is left in the end.
func startFickleZooKeeper(t testing.TB, opts testserver.ZooKeeperOptions) *store {
	t.Helper()
	if opts.MaxSessionTimeout == 0 {
		opts.MaxSessionTimeout = enduring
	}
	z := testserver.StartZooKeeper(t, opts)
	s := newStore(z, "zk", zkTTL)
	s.operator = func(t testing.TB) operator { return zooKeeperOperator(t, s) }
	s.left = func(ctx context.Context) ([]string, error) { return leftInZooKeeper(ctx, z) }
	for _, m := range z.Members {
		s.members = append(s.members, m)
	}
	return s
}

// leftInZooKeeper says what there is but directories.
func leftInZooKeeper(ctx context.Context, z *testserver.ZooKeeper) (left []string, err error) {
	for i, m := range z.Members {
		answer, err := m.FourLetter(ctx, "mntr")
		if err != nil {
			return nil, err
		}
		if !strings.Contains(answer, "zk_num_alive_connections\t1\n") { // which asks this
			cons, err := m.FourLetter(ctx, "cons")
			left = append(left, fmt.Sprintf("member %d has the connections %s, %v", i, cons, err))
		}
		for _, none := range []string{"zk_watch_count", "zk_ephemerals_count", "zk_global_sessions"} {
			_, value, found := strings.Cut(answer, "\n"+none+"\t")
			value, _, _ = strings.Cut(value, "\n")
			if !found {
				return nil, fmt.Errorf("member %d does not tell its %s: %s", i, none, answer)
			}
			if value != "0" {
				left = append(left, fmt.Sprintf("member %d: %s is %s", i, none, value))
			}
		}
	}
	if len(left) > 0 {
		return left, nil
	}
	c, err := plainZooKeeper(z.Endpoints()...)
	if err != nil {
		return nil, err
	}
	defer c.close()
	err = c.walk("/", &left)
	return left, err
}

// plainZK is a connection of the client library alone.
type plainZK struct {
	*gozk.Conn
	events <-chan gozk.Event
}

func plainZooKeeper(hosts ...string) (plainZK, error) {
	c, events, err := gozk.Connect(hosts, 10*time.Second, gozk.WithLogger(nothing{}), gozk.WithLogInfo(false),
		gozk.WithDialer(func(network, host string, limit time.Duration) (net.Conn, error) {
			return net.DialTimeout(network, host, limit)
		}))
	return plainZK{c, events}, err
}

// close returns when nothing of it is left.
func (c plainZK) close() {
	c.Close()
	for range c.events { // until its goroutines have ended
	}
}

type nothing struct{}

func (nothing) Printf(string, ...any) {}

// walk collects what is in the directories of namespaces. The name of a directory has
// a colon, and no other has.
func (c plainZK) walk(node string, found *[]string) error {
	names, _, err := c.Children(node)
	if errors.Is(err, gozk.ErrNoNode) { // containers go away by themselves
		return nil
	}
	for _, n := range names {
		child := path.Join(node, n)
		if child == "/zookeeper" { // its own
			continue
		}
		if strings.Contains(node, ":") {
			*found = append(*found, child)
		}
		if err := c.walk(child, found); err != nil {
			return err
		}
	}
	return err
}
