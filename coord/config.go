package coord

import (
	"context"
	"fmt"
	"math"
	"time"

	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord/driver"
)

const (
	// DefaultSessionTTL is the TTL of sessions where none is set: long enough
	// for the pauses of an ordinary program, and for the servers of every
	// store at their default settings to grant.
	DefaultSessionTTL = 15 * time.Second

	// DefaultNamespace is where everything lies when neither the URL nor
	// Config names a namespace.
	DefaultNamespace = driver.DefaultNamespace
)

// Config says which store to use and how. The zero value of each field but URL
// is a sensible default. It can be filled from JSON or YAML by the names of
// its tags, and from the environment by FromEnv.
//
// Most settings can stand in the URL's query as well, by the same names, as
// "etcd://db1,db2/myapp?session_ttl=10s&tls_ca=/etc/ca.pem". A setting in the URL
// overrides the field here, except Require, where both apply: a program sets its
// defaults in Config and takes the URL from the person or script that runs it.
type Config struct {
	// URL is scheme://[user@]host[:port][,host[:port]…]/[namespace][?parameter=value&…].
	URL string `json:"url" yaml:"url"`

	// Namespace keeps programs that share a store apart. It is the URL's
	// path; segments are separated by slashes. Where the path names a file or a database,
	// as with sqlite://, postgres:// and mysql://, it is the parameter "namespace".
	Namespace string `json:"namespace,omitempty" yaml:"namespace,omitempty"`

	// SessionTTL is the least time for which the store keeps a client's entries after
	// it last heard of the client. The default is DefaultSessionTTL. Stores grant
	// different ranges; what cannot be granted is refused and not rounded.
	SessionTTL Duration `json:"session_ttl,omitempty" yaml:"session_ttl,omitempty"`

	// Require names capabilities without which Open fails, such as "shared" to
	// keep a program that runs on many machines off an embedded store.
	Require Caps `json:"require,omitempty" yaml:"require,omitempty"`

	// TLS turns TLS on, with the system's certificate authorities. It is
	// implied by each of the following. The client's certificate and key are read
	// again for every connection, so they can be renewed while the program runs; the
	// authorities are read once, at Open.
	TLS           bool   `json:"tls,omitempty" yaml:"tls,omitempty"`
	TLSCA         string `json:"tls_ca,omitempty" yaml:"tls_ca,omitempty"`                   // PEM file of authorities to trust instead of the system's
	TLSCert       string `json:"tls_cert,omitempty" yaml:"tls_cert,omitempty"`               // PEM file of the client's certificate; with TLSKey
	TLSKey        string `json:"tls_key,omitempty" yaml:"tls_key,omitempty"`                 // PEM file of its key
	TLSServerName string `json:"tls_server_name,omitempty" yaml:"tls_server_name,omitempty"` // the name to verify instead of the host's

	// Username may also stand in the URL. Secrets may not: they come from a
	// file (of which one trailing newline is ignored) or from an environment
	// variable, each read once, at Open.
	Username     string `json:"username,omitempty" yaml:"username,omitempty"`
	PasswordFile string `json:"password_file,omitempty" yaml:"password_file,omitempty"`
	PasswordEnv  string `json:"password_env,omitempty" yaml:"password_env,omitempty"`
	TokenFile    string `json:"token_file,omitempty" yaml:"token_file,omitempty"`
	TokenEnv     string `json:"token_env,omitempty" yaml:"token_env,omitempty"`

	// Owner is shown to those who list a queue. Host and PID are filled in.
	Owner Owner `json:"owner,omitzero" yaml:"owner,omitempty"`

	// Logger receives what an operator may want to know: sessions opened and lost,
	// entries that an operator removed from the store, what election.Run and
	// Semaphore.SetLimit do in the background, certificates that cannot be read. These
	// are at info and warn, retries at debug. What a call returns as an error is not
	// logged as well. The default is silence.
	Logger *zap.Logger `json:"-" yaml:"-"`

	// Mux finds the driver for the scheme. The default is driver.DefaultMux,
	// with the drivers that the program imports.
	Mux *driver.Mux `json:"-" yaml:"-"`
}

// Open connects to the store that url names: Config{URL: url}.Open(ctx).
func Open(ctx context.Context, url string) (*Client, error) {
	return Config{URL: url}.Open(ctx)
}

// Open connects to the store. ctx bounds the connecting and not the client. What is
// wrong in the configuration is an error that Is ErrInvalid and lists what is valid; a
// capability of Require that the store lacks is one that Is ErrUnsupported. An
// unreachable store, and a TTL that only its servers can judge, may show only at the
// first use: a program that wants to know at the start calls Client.Session.
func (c Config) Open(ctx context.Context) (*Client, error) {
	c, opener, target, err := c.resolve()
	if err != nil {
		return nil, fmt.Errorf("coordkit: %w", err)
	}
	conn, err := opener.Open(ctx, target)
	if err != nil {
		return nil, err
	}
	client, err := New(conn, c)
	if err != nil {
		_ = conn.Close() // the answer is no, whatever closing says
		return nil, err
	}
	return client, nil
}

func checkTTL(ttl time.Duration, o driver.Opener) error {
	least, most := max(o.MinTTL, time.Millisecond), o.MaxTTL
	if most == 0 {
		most = math.MaxInt64
	}
	switch {
	case ttl >= least && ttl <= most:
		return nil
	case o.MaxTTL == 0:
		return fmt.Errorf("%w session_ttl %v: want at least %v", ErrInvalid, ttl, least)
	default:
		return fmt.Errorf("%w session_ttl %v: want %v to %v", ErrInvalid, ttl, least, most)
	}
}
