package zk

import (
	"net"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"
)

// newAdmin returns a client of another kind, which nothing interferes with.
func newAdmin(t testing.TB, hosts []string) *gozk.Conn {
	t.Helper()
	c, events, err := gozk.Connect(hosts, 3*time.Second, gozk.WithLogger(nothing{}), gozk.WithLogInfo(false),
		gozk.WithDialer(func(_, host string, limit time.Duration) (net.Conn, error) {
			c, err := net.DialTimeout("tcp", host, limit)
			return hasty{c}, err
		}))
	must(t, err)
	t.Cleanup(func() {
		c.Close()
		for range events { // until its goroutines have ended
		}
	})
	return c
}

// hasty is a connection that waits for a frozen server no longer than for 2 s.
// The library would wait ten times as long as its session lasts.
type hasty struct{ net.Conn }

func (c hasty) SetReadDeadline(t time.Time) error {
	if soon := time.Now().Add(2 * time.Second); t.After(soon) {
		t = soon
	}
	return c.Conn.SetReadDeadline(t)
}

type nothing struct{}

func (nothing) Printf(string, ...any) {}
