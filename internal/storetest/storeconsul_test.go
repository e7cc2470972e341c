package storetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	_ "github.com/coordkit/coordkit/drivers/consul"
	"github.com/coordkit/coordkit/internal/testserver"
)

const (
	consulTTL        = 2 * time.Second  // where session_ttl_min is lowered to it
	consulDefaultTTL = 10 * time.Second // where it is not
)

func startConsul(t testing.TB, opts testserver.ConsulOptions) *store {
	t.Helper()
	consul := testserver.StartConsul(t, opts)
	s := newStore(consul, "consul", consulTTL)
	for _, m := range consul.Members {
		s.members = append(s.members, m)
	}
	s.operator = func(t testing.TB) operator { return consulOperator(t, s) }
	s.left = func(ctx context.Context) ([]string, error) { return leftInConsul(ctx, s) }
	s.wantNothingLeft(t)
	return s
}

func leftInConsul(ctx context.Context, s *store) (left []string, err error) {
	for _, m := range s.members {
		n, err := connsTo(hosts(m.Endpoint())[0])
		if err != nil {
			return nil, err
		}
		if n > 0 {
			left = append(left, fmt.Sprintf("%d connections to %s", n, m.Endpoint()))
		}
	}
	c, err := plainConsul(s.members[0].Endpoint())
	if err != nil {
		return nil, err
	}
	q := (&api.QueryOptions{RequireConsistent: true}).WithContext(ctx)
	keys, _, err := c.KV().Keys("", "", q)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		left = append(left, fmt.Sprintf("key %q", key))
	}
	sessions, _, err := c.Session().List(q)
	if err != nil {
		return nil, err
	}
	for _, s := range sessions {
		left = append(left, "session "+s.ID)
	}
	return left, nil
}

// plainConsul is a client that keeps no connection.
func plainConsul(endpoint string) (*api.Client, error) {
	return api.NewClient(&api.Config{
		Address:    endpoint,
		HttpClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	})
}

// connsTo counts the connections that a server on this machine has accepted and
// not closed, for whatever reason.
func connsTo(hostport string) (int, error) {
	addr, err := netip.ParseAddrPort(hostport)
	if err != nil {
		return 0, err
	}
	table, err := os.Open("/proc/net/tcp")
	if err != nil {
		return 0, err
	}
	defer table.Close()
	const established, closeWait = "01", "08"
	n := 0
	lines := bufio.NewScanner(table)
	for lines.Scan() { // number, local address, remote address, state
		f := strings.Fields(lines.Text())
		if len(f) < 4 {
			return 0, errors.New("/proc/net/tcp: " + lines.Text())
		}
		if strings.HasSuffix(f[1], fmt.Sprintf(":%04X", addr.Port())) && (f[3] == established || f[3] == closeWait) {
			n++
		}
	}
	return n, lines.Err()
}
