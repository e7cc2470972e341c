package coord

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"github.com/coordkit/coordkit/coord/driver"
)

// secret reads a secret from a file or an environment variable, not both.
// Whoever names a place for it and leaves the place empty has made a mistake.
func secret(what, file, env string) (driver.Secret, error) {
	var value, place string
	switch {
	case file != "" && env != "":
		return "", fmt.Errorf("%w configuration: both %s_file and %s_env are given", ErrInvalid, what, what)
	case file != "":
		b, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("%w configuration: %s_file: %w", ErrInvalid, what, err)
		}
		value = strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
		place = "file " + file
	case env != "":
		value = os.Getenv(env)
		place = "environment variable " + env
	default:
		return "", nil
	}
	if value == "" {
		return "", fmt.Errorf("%w configuration: the %s in %s is empty", ErrInvalid, what, place)
	}
	return driver.Secret(value), nil
}

// tlsConfig returns nil when nothing about TLS is set.
func (c Config) tlsConfig() (*tls.Config, error) {
	if !c.TLS && c.TLSCA == "" && c.TLSCert == "" && c.TLSKey == "" && c.TLSServerName == "" {
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
		cert, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
		if err != nil {
			return nil, fmt.Errorf("%w configuration: tls_cert and tls_key: %w", ErrInvalid, err)
		}
		t.Certificates = []tls.Certificate{cert}
	}
	return t, nil
}
