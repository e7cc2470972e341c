package zk

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/testserver"
)

func TestOpenWithTLS(t *testing.T) {
	t.Parallel()
	z := testserver.StartZooKeeper(t, testserver.ZooKeeperOptions{TLS: true})
	config, err := z.TLS.Config()
	must(t, err)
	right := targetOf(t, z)
	right.TLS = config
	use(t, right)

	wrong := right
	wrong.TLS = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	c, err := opener(t).Open(within(t), wrong)
	must(t, err)
	_, err = c.OpenSession(within(t), 5*time.Second)
	wantIs(t, err, driver.ErrUnavailable)
	if !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%q does not tell the reason", err)
	}
	must(t, c.Close())
}

func TestCreatorsNodes(t *testing.T) {
	z := single.Get(t)
	mine := targetOf(t, z)
	mine.Namespace = "mine/" + mine.Namespace // of what is above nobody else makes use either
	mine.Username, mine.Password = "me", "secret-mine"
	use(t, mine)

	// The namespace is mine from now on.
	c, err := opener(t).Open(within(t), mine)
	must(t, err)
	s, err := c.OpenSession(within(t), 20*time.Second)
	must(t, err)
	n, err := s.Create(within(t), "d", "0", nil)
	must(t, err)
	admin := newAdmin(t, endpoints(z))
	must(t, admin.AddAuth("digest", []byte("me:secret-mine")))
	acl, _, err := admin.GetACL(n.Key)
	must(t, err)
	if len(acl) != 1 || acl[0].Scheme != "digest" || !strings.HasPrefix(acl[0].ID, "me:") {
		t.Errorf("the node's list is %+v", acl)
	}

	for name, other := range map[string]driver.Target{
		"another password": {Username: "me", Password: "secret-guess"},
		"another user":     {Username: "you", Password: "secret-yours"},
		"nobody":           {},
	} {
		other.Hosts, other.Namespace, other.Logger = mine.Hosts, mine.Namespace, mine.Logger
		c, err := opener(t).Open(within(t), other)
		must(t, err)
		_, err = c.OpenSession(within(t), 20*time.Second)
		wantIs(t, err, driver.ErrDenied)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %q shows a password", name, err)
		}
		_, err = c.List(within(t), "d")
		wantIs(t, err, driver.ErrDenied)
		must(t, c.Close())
	}

	// The credentials are sent again with each connection.
	link := s.(*session).link
	for range 5 {
		w := link.current()
		w.drop()
		eventually(t, "another connection", func() bool { return link.current() != w })
		again, err := s.Create(within(t), "d", "0", nil)
		if driver.Transient(err) {
			again, err = s.Create(within(t), "d", "0", nil)
		}
		must(t, err)
		if !again.Same(n) {
			t.Errorf("found %+v; want %+v", again, n)
		}
	}
	must(t, c.Close())
}

// A user who lets everybody in.
func TestOpenNodes(t *testing.T) {
	z := single.Get(t)
	mine := targetOf(t, z)
	mine.Username, mine.Password, mine.Params = "me", "secret-mine", map[string]string{"acl": "open"}
	use(t, mine)
	other := mine
	other.Username, other.Password, other.Params = "", "", nil
	use(t, other)
}
