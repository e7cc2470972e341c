package zk

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/testserver"
)

// A server that has as many connections from an address as it accepts closes the
// next one without a word. Whoever meets that is told what it may be, and goes
// on when there is room.
func TestServerFull(t *testing.T) {
	const most = 3
	z := testserver.StartZooKeeper(t, testserver.ZooKeeperOptions{ExtraConfig: map[string]string{"maxClientCnxns": strconv.Itoa(most)}})
	c, err := opener(t).Open(within(t), targetOf(t, z))
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	looks, err := opener(t).Open(within(t), targetOf(t, z)) // by a connection of its own
	must(t, err)
	t.Cleanup(func() { must(t, looks.Close()) })
	var sessions []driver.Session
	for len(sessions) < most {
		s, err := c.OpenSession(within(t), long)
		if err != nil && driver.Transient(err) {
			continue // who looked at the server's health has just left
		}
		must(t, err)
		sessions = append(sessions, s)
	}
	full := func(what string, call func(ctx context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(within(t), 3*time.Second)
		defer cancel()
		err := call(ctx)
		wantIs(t, err, context.DeadlineExceeded)
		if !driver.Transient(err) || !strings.Contains(err.Error(), "closed the connection before the handshake") ||
			!strings.Contains(err.Error(), "maxClientCnxns") {
			t.Errorf("%s: %v; want a word of maxClientCnxns", what, err)
		}
	}
	full("OpenSession", func(ctx context.Context) error { _, err := c.OpenSession(ctx, long); return err })
	full("List", func(ctx context.Context) error { _, err := looks.List(ctx, "d"); return err })
	must(t, sessions[0].Close(within(t)))
	eventually(t, "there is room", func() bool {
		_, err := looks.List(within(t), "d")
		return err == nil
	})
}
