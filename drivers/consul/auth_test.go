package consul

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/lease"
	"github.com/coordkit/coordkit/coord/driver/sessions"
	"github.com/coordkit/coordkit/internal/drivertest"
	"github.com/coordkit/coordkit/internal/testserver"
)

// everyCall returns each method that talks to the store.
func everyCall() map[string]drivertest.Call {
	calls := drivertest.Calls()
	calls["Watch"] = func(ctx context.Context, c driver.Conn, _ driver.Session, _ driver.Node) error {
		for _, err := range c.(driver.Watcher).Watch(ctx, "d") {
			if err != nil {
				return err
			}
		}
		return nil
	}
	return calls
}

// tokenFor makes a token with rules of Consul's policy language.
func tokenFor(t *testing.T, admin *api.Client, name, rules string) driver.Secret {
	t.Helper()
	_, _, err := admin.ACL().PolicyCreate(&api.ACLPolicy{Name: name, Rules: rules}, nil)
	must(t, err)
	token, _, err := admin.ACL().TokenCreate(&api.ACLToken{Policies: []*api.ACLTokenPolicyLink{{Name: name}}}, nil)
	must(t, err)
	return driver.Secret(token.SecretID)
}

func TestTokens(t *testing.T) {
	t.Parallel()
	consul := testserver.StartConsul(t, testserver.ConsulOptions{ACL: true, Dev: true})
	admin := newAdmin(t, consul.Member(0).Endpoint(), consul.Token)
	target := targetOf(t, consul)
	use(t, target)

	// What the package comment says is needed.
	target.Token = tokenFor(t, admin, "enough", `
		key_prefix "`+target.Namespace+`/" { policy = "write" }
		session_prefix "" { policy = "write" }`)
	use(t, target)
	c, err := opener(t).Open(within(t), target)
	must(t, err)
	s, err := c.OpenSession(within(t), time.Minute)
	must(t, err)
	n, err := s.Create(within(t), "d", "0", nil)
	must(t, err)

	for what, token := range map[string]driver.Secret{
		"no token":                  "",
		"an unknown token":          "01234567-89ab-cdef-0123-456789abcdef",
		"a token for other keys":    tokenFor(t, admin, "others", `key_prefix "other/" { policy = "write" } session_prefix "" { policy = "write" }`),
		"a token that may not read": tokenFor(t, admin, "deny", `key_prefix "" { policy = "deny" } session_prefix "" { policy = "write" }`),
	} {
		other := target
		other.Token = token
		d, err := openOn(within(t), other)
		must(t, err)
		// A session that was opened with better rights.
		denied := &session{conn: d, written: make(map[string]uint64), own: make(map[string]driver.Node)}
		must(t, d.sessions.Open(&denied.Session, sessions.Config{
			Lease: lease.Config{
				Session: s.ID(), TTL: s.TTL(), Sent: time.Now(), Renew: func(context.Context) error { return nil },
			},
			Revoke: func(context.Context) error { return nil },
		}))
		for name, do := range everyCall() {
			err := do(within(t), d, denied, n)
			if name == "OpenSession" && err == nil {
				continue // that one may be right
			}
			if !errors.Is(err, driver.ErrDenied) {
				t.Errorf("%s, %s: %v; want ErrDenied", what, name, err)
			}
			if token != "" && err != nil && strings.Contains(err.Error(), string(token)) {
				t.Errorf("%s, %s: %q shows the token", what, name, err)
			}
		}
		must(t, d.Close())
	}
	must(t, s.Err())
	must(t, c.Close())
}

// A token that is taken away ends waits and then the session, with a reason.
func TestTokenTakenAway(t *testing.T) {
	t.Parallel()
	consul := testserver.StartConsul(t, testserver.ConsulOptions{ACL: true, Dev: true, SessionTTLMin: time.Second})
	admin := newAdmin(t, consul.Member(0).Endpoint(), consul.Token)
	target := targetOf(t, consul)
	target.Token = tokenFor(t, admin, "enough", `key_prefix "" { policy = "write" } session_prefix "" { policy = "write" }`)
	c, err := openOn(within(t), target)
	must(t, err)
	s, err := c.OpenSession(within(t), shortTTL)
	must(t, err)
	n, err := s.Create(within(t), "d", "0", nil)
	must(t, err)
	wait := waiting(within(t), s, n)
	self, _, err := admin.ACL().TokenReadSelf(&api.QueryOptions{Token: string(target.Token)})
	must(t, err)
	_, err = admin.ACL().TokenDelete(self.AccessorID, nil)
	must(t, err)
	if err := receive(t, "the wait", wait); !errors.Is(err, driver.ErrDenied) && !errors.Is(err, driver.ErrSessionLost) {
		t.Errorf("the wait ended with %v; want ErrDenied or ErrSessionLost", err)
	}
	receive(t, "Done", s.Done())
	wantIs(t, s.Err(), driver.ErrSessionLost)
	must(t, c.Close())
}

// With TLS all requests share a connection (HTTP/2).
func TestTLS(t *testing.T) {
	t.Parallel()
	consul := testserver.StartConsul(t, testserver.ConsulOptions{TLS: true, Dev: true})
	target := targetOf(t, consul)
	config, err := consul.TLS.Config()
	must(t, err)
	target.TLS = config
	use(t, target)

	proxy, err := netfault.New(target.Hosts[0])
	must(t, err)
	defer proxy.Close()
	direct := target.Hosts
	target.Hosts = []string{proxy.Addr()}
	c, err := openOn(within(t), target)
	must(t, err)
	opened, err := c.OpenSession(within(t), time.Minute)
	must(t, err)
	f := &fixture{conn: c, t: t}
	s := opened.(*session)
	nodes := f.fill(s, "d", 20)
	var waits []<-chan error
	for _, n := range nodes {
		waits = append(waits, waiting(within(t), s, n))
	}
	f.eventuallyWaiting("d", len(nodes))
	for i, n := range nodes {
		must(t, s.Delete(within(t), n))
		must(t, receive(t, "the wait", waits[i]))
	}
	if n := proxy.Stats().Accepted; n != 2 { // one is for sessions
		t.Errorf("%d connections", n)
	}
	must(t, c.Close())
	target.Hosts = direct

	wrong := target
	wrong.TLS = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	d, err := opener(t).Open(within(t), wrong)
	must(t, err)
	_, err = d.List(within(t), "d")
	wantIs(t, err, driver.ErrUnavailable)
	if !strings.Contains(err.Error(), "certificate signed by unknown authority") {
		t.Errorf("%q does not tell the reason", err)
	}
	must(t, d.Close())
}
