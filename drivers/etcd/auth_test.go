package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/drivertest"
	"github.com/coordkit/coordkit/internal/testserver"
)

func TestOpenWithTLS(t *testing.T) {
	t.Parallel()
	etcd := testserver.StartEtcd(t, testserver.EtcdOptions{TLS: true})
	right := targetOf(t, etcd)
	use(t, right)

	wrong := right
	wrong.TLS = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	c, err := opener(t).Open(within(t), wrong)
	must(t, err)
	defer c.Close()
	ctx, cancel := context.WithTimeout(within(t), 4*time.Second) // a handshake fits in, and it is less than an attempt has
	defer cancel()
	_, err = c.List(ctx, "d")
	wantIs(t, err, driver.ErrUnavailable)
	if !strings.Contains(err.Error(), "certificate signed by unknown authority") {
		t.Errorf("%q does not tell the reason", err)
	}
}

// withAuth starts a server that wants a password, with users "root" and
// "guest", who may do nothing.
func withAuth(t *testing.T, opts testserver.EtcdOptions) *testserver.Etcd {
	t.Helper()
	etcd := testserver.StartEtcd(t, opts)
	admin := newClient(t, etcd.ClientConfig())
	ctx := within(t)
	for _, user := range []string{"root", "guest"} {
		_, err := admin.UserAdd(ctx, user, "secret-"+user)
		must(t, err)
	}
	_, err := admin.UserGrantRole(ctx, "root", "root")
	must(t, err)
	_, err = admin.AuthEnable(ctx)
	must(t, err)
	etcd.SetAuth("root", "secret-root")
	return etcd
}

func TestOpenWithPassword(t *testing.T) {
	t.Parallel()
	etcd := withAuth(t, testserver.EtcdOptions{})
	right := targetOf(t, etcd)
	right.Username, right.Password = "root", "secret-root"
	use(t, right)

	wrong := right
	wrong.Password = "secret-guess"
	_, err := opener(t).Open(within(t), wrong)
	wantIs(t, err, driver.ErrDenied)
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("%q shows the password", err)
	}

	none := right
	none.Username, none.Password = "", ""
	c, err := opener(t).Open(within(t), none)
	must(t, err)
	_, err = c.OpenSession(within(t), time.Minute)
	wantIs(t, err, driver.ErrDenied)
	_, err = c.List(within(t), "d")
	wantIs(t, err, driver.ErrDenied)
	must(t, c.Close())
}

// A user who may open a session, as everybody may, and nothing else.
func TestPermissionDenied(t *testing.T) {
	t.Parallel()
	etcd := withAuth(t, testserver.EtcdOptions{})
	guest := targetOf(t, etcd)
	guest.Username, guest.Password = "guest", "secret-guest"
	c, err := opener(t).Open(within(t), guest)
	must(t, err)
	s, err := c.OpenSession(within(t), time.Minute)
	must(t, err)
	n := driver.Node{Dir: "d", Key: guest.Namespace + "/d/0000000000000001-0", Token: 1, Version: 1}
	for name, do := range drivertest.Calls() {
		if name == "OpenSession" {
			continue
		}
		if err := do(within(t), c, s, n); !errors.Is(err, driver.ErrDenied) {
			t.Errorf("%s: %v; want ErrDenied", name, err)
		}
	}
	must(t, s.Err())
	must(t, c.Close())
}

// Tokens that the server forgets after a second, and a change of the rights,
// which makes every token useless: neither ends a session or a wait.
func TestTokensExpire(t *testing.T) {
	t.Parallel()
	etcd := withAuth(t, testserver.EtcdOptions{AuthTokenTTL: time.Second})
	f := startOn(t, etcd, targetOf(t, etcd))
	s := f.open(5 * time.Second)
	n, other := f.create(s, "d", "0"), f.create(s, "e", "0")
	wait := waiting(within(t), s, n)
	f.eventuallyOpen("d", 1)
	expire := func() { f.eventuallyRenewed(s, 2) }
	expire()
	late := waiting(within(t), s, other) // a watch on the stream of an old token
	f.eventuallyOpen("e", 1)
	pendingStill(t, wait)
	pendingStill(t, late)

	_, err := f.admin.RoleAdd(within(t), "another")
	must(t, err)
	expire()
	must(t, s.Err())
	must(t, s.Delete(within(t), n))
	must(t, receive(t, "the wait", wait))
	must(t, s.Delete(within(t), other))
	must(t, receive(t, "the later wait", late))
}
