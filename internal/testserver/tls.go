package testserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// TLSFiles are the paths of what a client needs to talk to a server with TLS, as
// PEM files. They are made for one set of servers and removed with it.
type TLSFiles struct {
	CA         string // certificate of the authority that signed all others
	ClientCert string
	ClientKey  string
}

// Config returns a client's TLS configuration made of the files.
func (f TLSFiles) Config() (*tls.Config, error) {
	ca, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s: expected a certificate in PEM form", f.CA)
	}
	cert, err := tls.LoadX509KeyPair(f.ClientCert, f.ClientKey)
	if err != nil {
		return nil, err
	}
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, nil
}

// serverTLS are the files of both sides.
type serverTLS struct {
	TLSFiles
	serverCert string
	serverKey  string
}

// newServerTLS makes an authority, and with it a certificate for servers on
// loopback and one for clients, all in the directory dir.
func newServerTLS(dir string) (*serverTLS, error) {
	in := func(name string) string { return filepath.Join(dir, name) }
	files := &serverTLS{
		TLSFiles:   TLSFiles{CA: in("ca.pem"), ClientCert: in("client.pem"), ClientKey: in("client-key.pem")},
		serverCert: in("server.pem"),
		serverKey:  in("server-key.pem"),
	}
	ca, err := newAuthority(files.CA)
	if err != nil {
		return nil, err
	}
	// A server is a client as well where it relays requests to itself or to
	// other members.
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	if err := ca.issue("server", both, files.serverCert, files.serverKey); err != nil {
		return nil, err
	}
	if err := ca.issue("client", both[1:], files.ClientCert, files.ClientKey); err != nil {
		return nil, err
	}
	return files, nil
}

// authority signs certificates with a key that never leaves memory.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newAuthority makes an authority and writes its certificate to path.
func newAuthority(path string) (*authority, error) {
	template, err := certTemplate("authority")
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert: cert, key: key}, writePEM(path, "CERTIFICATE", der)
}

// issue makes a key and a certificate for loopback and writes both.
func (a *authority) issue(name string, usage []x509.ExtKeyUsage, certPath, keyPath string) error {
	template, err := certTemplate(name)
	if err != nil {
		return err
	}
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, usage
	template.DNSNames = []string{"localhost"}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return err
	}
	if err := writePEM(certPath, "CERTIFICATE", der); err != nil {
		return err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(keyPath, "PRIVATE KEY", pkcs8)
}

// certTemplate is what all certificates share. They are valid for a day, from an
// hour ago on, in case the clock is set back meanwhile.
func certTemplate(name string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "coordkit test " + name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
	}, nil
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
