package driver

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Target says where to connect and how: a URL and its settings, checked
// against the Opener and decoded.
type Target struct {
	Scheme    string
	Hosts     []string          // host:port, or the store's name when the Opener is Local
	Path      string            // the URL's path, decoded, if the Opener has Path
	Namespace string            // one or more path segments in the form of directories, joined by "/", never empty
	TLS       *tls.Config       // nil: no TLS
	Username  string            // empty: none
	Password  Secret            // of Username
	Token     Secret            // for stores that take a token
	Params    map[string]string // only names that the Opener declares
	Logger    *zap.Logger       // never nil
}

// Secret is a string that does not show itself when printed or logged.
type Secret string

// String hides the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[secret]"
}

// GoString hides the secret.
func (s Secret) GoString() string { return s.String() }

// MarshalText hides the secret.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Param is a parameter that a driver accepts in the query of a URL.
type Param struct {
	Name  string
	Doc   string             // one line: what it is, its unit, its default
	Check func(string) error // nil: any value; the error says what is valid
}

// Opener opens connections for a scheme. The fields beside Open say what a URL
// of that scheme may hold, so that a wrong one is refused with a full answer
// before anything is dialled.
type Opener struct {
	// Open connects. ctx bounds the connecting and not the Conn (B2). It may
	// succeed while the store is down: the first call tells.
	Open func(ctx context.Context, t Target) (Conn, error)

	DefaultPort    string        // for hosts without a port
	Local          bool          // the host is a name, without a port, and may be empty
	Path           bool          // the path names a file or database; the namespace is a parameter
	TLS            bool          // TLS settings are accepted
	Password       bool          // a username and password are accepted
	Token          bool          // a token is accepted
	MinTTL, MaxTTL time.Duration // what the store can grant at the least and the most; 0: not known here
	Params         []Param
}

// Mux maps schemes to openers. The zero value is empty and ready; it is safe
// for concurrent use.
type Mux struct {
	mu      sync.RWMutex
	openers map[string]Opener
}

// DefaultMux holds the drivers that a program imports: each registers itself
// when its package is initialized.
var DefaultMux Mux

// Register adds an opener to DefaultMux, as Mux.Register does.
func Register(scheme string, o Opener) { DefaultMux.Register(scheme, o) }

// Register adds an opener for scheme. It panics if the scheme is taken or not
// a valid one (lower-case letters, digits, "+-."), or if o.Open is nil: each
// is a mistake in a program and not in its input.
func (m *Mux) Register(scheme string, o Opener) {
	valid := scheme != "" && scheme[0] >= 'a' && scheme[0] <= 'z' &&
		strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
	m.mu.Lock()
	defer m.mu.Unlock()
	switch _, taken := m.openers[scheme]; {
	case !valid:
		panic(fmt.Sprintf("driver: %q is not a valid URL scheme", scheme))
	case o.Open == nil:
		panic(fmt.Sprintf("driver: Open of %q is nil", scheme))
	case taken:
		panic(fmt.Sprintf("driver: scheme %q is registered twice", scheme))
	}
	if m.openers == nil {
		m.openers = make(map[string]Opener)
	}
	m.openers[scheme] = o
}

// Lookup returns the opener for scheme. An unknown scheme is an error that
// lists the known ones.
func (m *Mux) Lookup(scheme string) (Opener, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if o, ok := m.openers[scheme]; ok {
		return o, nil
	}
	known := "none: no driver is imported"
	if s := m.schemesLocked(); len(s) > 0 {
		known = strings.Join(s, ", ")
	}
	return Opener{}, fmt.Errorf("%w URL: no driver for scheme %q; registered are %s", ErrInvalid, scheme, known)
}

// Schemes returns the registered schemes, sorted.
func (m *Mux) Schemes() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.schemesLocked()
}

func (m *Mux) schemesLocked() []string {
	s := make([]string, 0, len(m.openers))
	for scheme := range m.openers {
		s = append(s, scheme)
	}
	slices.Sort(s)
	return s
}
