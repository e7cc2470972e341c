// Package slatetest holds the harness that the conformance suite needs to check
// the driver of package slate: connections through links that can be broken, and
// an operator who ends sessions and removes keys.
//
// [TCP] is for a running server. [Memory] runs servers inside the process and
// over a netfault.Memory, so that the suite runs in virtual time (package
// testing/synctest): in seconds, whatever the TTL, and the same on a busy
// machine.
package slatetest

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/examples/slate"
	"github.com/coordkit/coordkit/examples/slate/slated"
)

// TCP returns the harness for a server that listens on TCP. The server counts
// leases, waits and connections for all its clients, so the rules that count
// (conformance.Rule.Counts) need it for themselves, one case at a time.
func TCP(server *slated.Server) conformance.Harness {
	s := store{
		server: func(string) *slated.Server { return server },
		below:  func(string) []*slated.Server { return []*slated.Server{server} },
		has:    func(string) bool { return false },
		dial:   new(net.Dialer).DialContext,
		proxy:  netfault.New,
	}
	return s.harness(4 * time.Second)
}

// Memory returns a harness whose sessions have a TTL of ttl, and whose servers,
// one for each namespace, run inside the process. All rules can be checked at
// the same time. The caller calls stop when nothing uses the harness any more:
// it closes the servers and returns when nothing of them runs.
//
// In virtual time the caller makes the harness, uses it and stops it in one
// bubble.
func Memory(ttl time.Duration) (h conformance.Harness, stop func()) {
	network := new(netfault.Memory)
	var mu sync.Mutex
	servers := make(map[string]*slated.Server) // by namespace
	s := store{
		server: func(namespace string) *slated.Server {
			mu.Lock()
			defer mu.Unlock()
			if servers[namespace] == nil {
				servers[namespace] = slated.Serve(network.Listen())
			}
			return servers[namespace]
		},
		below: func(path string) (all []*slated.Server) {
			mu.Lock()
			defer mu.Unlock()
			for namespace, server := range servers {
				if strings.HasPrefix(namespace+"/", path) || strings.HasPrefix(path, namespace+"/") {
					all = append(all, server)
				}
			}
			return all
		},
		has: func(namespace string) bool {
			mu.Lock()
			defer mu.Unlock()
			return servers[namespace] != nil
		},
		dial:  network.DialContext,
		proxy: network.NewProxy,
	}
	return s.harness(ttl), func() {
		mu.Lock()
		defer mu.Unlock()
		for _, server := range servers {
			server.Close()
		}
	}
}

// store is where servers are, and how to reach them.
type store struct {
	server func(namespace string) *slated.Server
	below  func(path string) []*slated.Server // those that may have keys there; path ends with a slash
	has    func(namespace string) bool        // there is a server for it alone
	dial   netfault.DialFunc
	proxy  func(target string) (*netfault.Proxy, error)
}

func (s store) harness(ttl time.Duration) conformance.Harness {
	return conformance.Harness{
		Name:   "slate",
		TTL:    ttl,
		Expiry: ttl + time.Second,
		Open: func(_ context.Context, namespace string) (driver.Conn, error) {
			return slate.New(s.server(namespace).Addr(), namespace, s.dial)
		},
		OpenLink:     s.openLink,
		Hold:         func(l conformance.Link) func() { return l.(*link).Hold() },
		Expire:       s.expire,
		RemoveNode:   s.removeNode,
		RemoveDir:    s.removeDir,
		PlantForeign: s.plantForeign,
		NearWrap:     conformance.WideCounter,
		Compact:      conformance.NoHistory,
		BadTTL:       []time.Duration{slated.MinTTL - 1, slated.MaxTTL + 1},
		Residue: func(_ context.Context, namespace string) (r conformance.Residue, err error) {
			r.Keys, r.Sessions, r.Watches, r.Conns = s.server(namespace).Count(namespace + "/")
			return r, nil
		},
	}
}

// link is a proxy before the server, and in the driver's dialer a gate that can
// hold back a single request.
type link struct {
	*netfault.Proxy
	*netfault.Gate
}

func (s store) openLink(_ context.Context, namespace string) (driver.Conn, conformance.Link, error) {
	p, err := s.proxy(s.server(namespace).Addr())
	if err != nil {
		return nil, nil, err
	}
	g := netfault.NewGate(s.dial, func(request []byte) bool {
		return bytes.Contains(request, []byte(`"Op":"txn"`))
	})
	c, err := slate.New(p.Addr(), namespace, g.DialContext)
	if err != nil {
		_ = p.Close()
		return nil, nil, err
	}
	return c, &link{p, g}, nil
}
