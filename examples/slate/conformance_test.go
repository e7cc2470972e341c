package slate

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/examples/slate/slated"
)

// stand is a server with the means to put the driver to the test on it.
type stand struct{ server *slated.Server }

// The driver keeps every rule, and every rule is verified.
func TestConformance(t *testing.T) {
	server, err := slated.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	var side, alone []conformance.Rule
	for _, r := range conformance.Rules() {
		if r.Counts() { // which slated does for all its clients
			alone = append(alone, r)
		} else {
			side = append(side, r)
		}
	}
	for _, part := range []conformance.Options{{Rules: side}, {Rules: alone, Parallel: 1}} {
		for _, r := range conformance.RunWith(t, stand{server}.harness(), part).Results {
			if r.Status != conformance.Passed {
				t.Errorf("%s %v", r.Rule.ID, r.Status)
			}
		}
	}
}

func (s stand) harness() conformance.Harness {
	return conformance.Harness{
		Name:   "slate",
		TTL:    4 * time.Second,
		Expiry: 5 * time.Second,
		Open: func(_ context.Context, namespace string) (driver.Conn, error) {
			return newConn(s.server.Addr(), namespace, dialTCP), nil
		},
		OpenLink:     s.openLink,
		Hold:         func(l conformance.Link) func() { return l.(*link).gate.hold() },
		Expire:       s.expire,
		RemoveNode:   s.removeNode,
		RemoveDir:    s.removeDir,
		PlantForeign: s.plantForeign,
		NearWrap:     conformance.WideCounter,
		Compact:      conformance.NoHistory,
		BadTTL:       []time.Duration{minTTL - 1, maxTTL + 1},
		Residue: func(_ context.Context, namespace string) (r conformance.Residue, err error) {
			r.Keys, r.Sessions, r.Watches, r.Conns = s.server.Count(namespace + "/")
			return r, nil
		},
	}
}

// link is a proxy before the server, and in the driver's dialer a gate that can
// keep a single request.
type link struct {
	*netfault.Proxy
	gate *gate
}

func (s stand) openLink(_ context.Context, namespace string) (driver.Conn, conformance.Link, error) {
	p, err := netfault.New(s.server.Addr())
	if err != nil {
		return nil, nil, err
	}
	g := new(gate)
	return newConn(p.Addr(), namespace, g.dial), &link{p, g}, nil
}

func (s stand) expire(_ context.Context, _ string, session driver.Session) error {
	if r := s.server.Do(slated.Request{Op: "revoke", Lease: session.ID()}); r.Err != "" {
		return fmt.Errorf("revoke %s: %s", session.ID(), r.Err)
	}
	return nil
}

func (s stand) removeNode(_ context.Context, _ string, n driver.Node) error {
	s.server.Do(slated.Request{Op: "txn", Then: []slated.Action{{Del: n.Key}}})
	return nil
}

func (s stand) removeDir(_ context.Context, namespace, dir string) error {
	r := s.server.Do(slated.Request{Op: "txn", Then: []slated.Action{{Get: namespace + "/" + dir + "/"}}})
	all := slated.Request{Op: "txn"}
	for _, kv := range r.Got[0] {
		all.Then = append(all.Then, slated.Action{Del: kv.Key})
	}
	s.server.Do(all)
	return nil
}

func (s stand) plantForeign(_ context.Context, namespace, dir string) error {
	for _, key := range []string{"readme", "a/b", "-0", "0123456789abcdef-", "0123456789abcdef-0"} {
		s.server.Do(slated.Request{Op: "txn", Then: []slated.Action{{Put: &slated.KV{Key: namespace + "/" + dir + "/" + key}}}})
	}
	return nil
}
