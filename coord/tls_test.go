package coord_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
)

// A certificate that is renewed while the program runs is the one that its next
// connection presents; while the files do not fit together, the last one is.
func TestClientCertificateIsRenewed(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	server := issue(t, "localhost", in("server.pem"), in("server-key.pem"))
	issue(t, "first", in("client.pem"), in("client-key.pem"))

	p := newProbe()
	err := p.open(coord.Config{
		URL:   "full://localhost",
		TLSCA: in("server.pem"), TLSCert: in("client.pem"), TLSKey: in("client-key.pem"),
	})
	if !errors.Is(err, errProbe) {
		t.Fatal(err)
	}
	client := p.got.TLS.Clone()
	client.ServerName = "localhost"

	presents := func(want string) {
		t.Helper()
		if got := handshake(t, client, server, nil); got != want {
			t.Errorf("the certificate presented is %q; want %q", got, want)
		}
	}
	presents("first")
	issue(t, "second", in("client.pem"), in("client-key.pem"))
	presents("second")
	issue(t, "third", in("client.pem"), in("other-key.pem"))
	presents("second")
	issue(t, "fourth", in("client.pem"), in("client-key.pem"))
	presents("fourth")

	// A server that takes certificates of others alone is shown none.
	others := x509.NewCertPool()
	others.AddCert(server.Leaf)
	if got := handshake(t, client, server, others); got != "" {
		t.Errorf("a server that does not know it is presented %q", got)
	}
}

// handshake returns the name in the certificate that the client presents to a server
// that has cert, and asks for one that an authority among cas signed.
func handshake(t *testing.T, client *tls.Config, cert tls.Certificate, cas *x509.CertPool) string {
	t.Helper()
	server := &tls.Config{
		Certificates:           []tls.Certificate{cert},
		ClientAuth:             tls.RequestClientCert,
		ClientCAs:              cas,
		SessionTicketsDisabled: true, // nobody would read them from the pipe
	}
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	_ = near.SetDeadline(time.Now().Add(10 * time.Second))
	_ = far.SetDeadline(time.Now().Add(10 * time.Second))
	failed := make(chan error, 1)
	go func() { failed <- tls.Client(near, client).Handshake() }()
	s := tls.Server(far, server)
	err := s.Handshake()
	if err := errors.Join(<-failed, err); err != nil {
		t.Fatal(err)
	}
	peers := s.ConnectionState().PeerCertificates
	if len(peers) == 0 {
		return ""
	}
	return peers[0].Subject.CommonName
}

// issue writes a new key and a certificate that it signs itself.
func issue(t *testing.T, name, certFile, keyFile string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: name},
		DNSNames:     []string{name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		IsCA:         true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, certFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})))
	write(t, keyFile, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	leaf, err := x509.ParseCertificate(cert)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{cert}, PrivateKey: key, Leaf: leaf}
}
