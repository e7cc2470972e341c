package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap/zaptest"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/testserver"
)

// With TLS there is what TLS says before and after.
func TestPoolWithTLS(t *testing.T) {
	etcd := testserver.StartEtcd(t, testserver.EtcdOptions{TLS: true})
	p := newTestPool(t, etcd.ClientConfig())
	asksOver(t, p)
	must(t, etcd.Member(0).Kill())
	must(t, etcd.Member(0).Restart())
	must(t, etcd.WaitHealthy(within(t)))
	if sent, err := p.lists(t); sent || err != nil {
		t.Errorf("asked over a connection that was closed: %v", err)
	}
	stranger := poolFor(driver.Target{Hosts: p.hosts, TLS: &tls.Config{MinVersion: tls.VersionTLS12}, Logger: zaptest.NewLogger(t)}, defaultSettings)
	defer stranger.close()
	if _, err := stranger.reach(); err == nil {
		t.Error("a server is trusted whom nobody knows")
	}
}

// All connections have one token. When it is too old requests go by gRPC, until there is a
// connection with another.
func TestPoolWithPassword(t *testing.T) {
	etcd := withAuth(t, testserver.EtcdOptions{})
	p := newTestPool(t, etcd.ClientConfig())
	p.connect() // another one
	token := p.login.token
	asksOver(t, p)
	renewed := func() {
		t.Helper()
		p.connect()
		asksOver(t, p)
		if p.login.token == "" || p.login.token == token {
			t.Errorf("the token is %q, and was %q", p.login.token, token)
		}
		token = p.login.token
	}

	// No token of a user is good any more after a change of the password, to the same one too.
	admin := newClient(t, etcd.ClientConfig())
	change := func() {
		t.Helper()
		_, err := admin.UserChangePassword(within(t), "root", "secret-root")
		must(t, err)
	}
	change()
	if sent, err := p.lists(t); sent || err != nil {
		t.Errorf("asked with a token that is too old: %v, %v", sent, err)
	}
	if p.login.token != "" {
		t.Errorf("the token is still %q", p.login.token)
	}
	p.free.Empty()
	renewed()

	// That is found out also when no connection is left that has it.
	p.free.Empty()
	change()
	renewed()
}

// A password that the servers do not want, or do not want any more.
func TestPoolWithAnotherPassword(t *testing.T) {
	c := single.Get(t).ClientConfig()
	c.Username, c.Password = "root", "of no use"
	asksOver(t, newTestPool(t, c)) // authentication is off

	etcd := withAuth(t, testserver.EtcdOptions{})
	p := newTestPool(t, etcd.ClientConfig())
	p.login.forget(p.login.token)
	p.login.password = "secret-guess"
	for range 3 {
		if _, err := p.reach(); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("the error is %v", err)
		}
	}
	if _, err := p.reach(); !errors.Is(err, errDeniedBefore) {
		t.Errorf("tried again at once: %v", err)
	}
	p.login.password, p.login.denied = "secret-root", time.Time{}
	p.free.Empty()
	p.connect()
	asksOver(t, p)
}

// A server that speaks something else gets no password.
func TestPoolWantsHTTP2(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	p := poolFor(driver.Target{
		Hosts: []string{server.Listener.Addr().String()}, Username: "root", Password: "secret-root",
		TLS: &tls.Config{RootCAs: trusted}, Logger: zaptest.NewLogger(t),
	}, defaultSettings)
	defer p.close()
	p.tls.NextProtos = nil // else the handshake fails
	if _, err := p.reach(); err == nil || !strings.Contains(err.Error(), "does not offer HTTP/2") {
		t.Errorf("the error is %v", err)
	}
}
