package coord

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync"

	"go.uber.org/zap"
)

// asksForTLS reports whether something is set that only TLS has.
func (c Config) asksForTLS() bool {
	return c.TLSCA != "" || c.TLSCert != "" || c.TLSKey != "" || c.TLSServerName != ""
}

// tlsConfig returns nil when nothing about TLS is set.
func (c Config) tlsConfig(log *zap.Logger) (*tls.Config, error) {
	if !c.TLS && !c.asksForTLS() {
		return nil, nil
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.TLSServerName}
	if c.TLSCA != "" {
		pem, err := os.ReadFile(c.TLSCA)
		if err != nil {
			return nil, fmt.Errorf("%w configuration: tls_ca: %w", ErrInvalid, err)
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w configuration: tls_ca: no PEM certificate in %s", ErrInvalid, c.TLSCA)
		}
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return nil, fmt.Errorf("%w configuration: tls_cert and tls_key go together; only one is given", ErrInvalid)
	}
	if c.TLSCert != "" {
		k := &keyPair{cert: c.TLSCert, key: c.TLSKey, log: log}
		if err := k.read(); err != nil {
			return nil, fmt.Errorf("%w configuration: tls_cert and tls_key: %w", ErrInvalid, err)
		}
		t.GetClientCertificate = k.present
	}
	return t, nil
}

// keyPair is the client's certificate. Its files are read for every connection, as
// certificates are renewed while programs run, and one that a long-lived program read
// at its start is refused some day.
type keyPair struct {
	cert, key string // files
	log       *zap.Logger

	mu   sync.Mutex
	last *tls.Certificate // as it was read last
}

func (k *keyPair) read() error {
	pair, err := tls.LoadX509KeyPair(k.cert, k.key)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last = &pair
	return nil
}

// present answers a server that asks for a certificate. One of the two files may be
// new and the other old at this moment: then the last pair is as good as it was.
func (k *keyPair) present(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
	if err := k.read(); err != nil {
		k.log.Warn("the client's certificate cannot be read; the last one is used", zap.Error(err))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if asked.SupportsCertificate(k.last) != nil {
		return new(tls.Certificate), nil // none, as package tls does for tls.Config.Certificates
	}
	return k.last, nil
}
