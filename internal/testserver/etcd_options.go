package testserver

import (
	"fmt"
	"time"
)

// EtcdOptions says how to run a cluster. The zero value is a single member with
// quick elections.
type EtcdOptions struct {
	// Members is 1 or 3; 0 means 1.
	Members int
	// Heartbeat is the interval of the leader's heartbeats; 0 means 50 ms.
	Heartbeat time.Duration
	// ElectionTimeout is how long followers wait for a heartbeat before they
	// elect another leader; 0 means 500 ms. It is at least five heartbeats. The
	// shortest lease etcd grants is one and a half times it, rounded up to a
	// second, so by default 1 s.
	ElectionTimeout time.Duration
	// TLS makes the members serve clients with TLS only, and demand a certificate
	// of them; see [Etcd.TLS] for what they need.
	TLS bool
	// AuthTokenTTL is how long a token of password authentication lives unused,
	// in whole seconds; 0 means etcd's default of 5 minutes.
	AuthTokenTTL time.Duration
	// PeerAddr has the members reach each other by other ways than the direct one,
	// such as through proxies that can cut one of them off. It is called for each
	// member's host:port for the others, and returns the one of 127.0.0.1 that the
	// member advertises instead; it cannot tell callers apart. nil means the direct
	// way. It is called again with other ports if one of them turns out to be taken.
	PeerAddr func(to int, addr string) (string, error)
	// ExtraArgs are further flags of etcd for every member, and take precedence.
	// To give up durability for speed: --unsafe-no-fsync.
	ExtraArgs []string
}

// withDefaults returns the options with the zero values replaced, or an error
// that says which is wrong.
func (o EtcdOptions) withDefaults() (EtcdOptions, error) {
	if o.Members == 0 {
		o.Members = 1
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = 50 * time.Millisecond
	}
	if o.ElectionTimeout == 0 {
		o.ElectionTimeout = 500 * time.Millisecond
	}
	switch {
	case o.Members != 1 && o.Members != 3:
		return o, fmt.Errorf("option Members is %d, expected 1 or 3", o.Members)
	case o.Heartbeat < time.Millisecond || o.Heartbeat%time.Millisecond != 0:
		return o, fmt.Errorf("option Heartbeat is %v, expected whole milliseconds", o.Heartbeat)
	case o.ElectionTimeout%time.Millisecond != 0:
		return o, fmt.Errorf("option ElectionTimeout is %v, expected whole milliseconds", o.ElectionTimeout)
	case o.ElectionTimeout < 5*o.Heartbeat:
		return o, fmt.Errorf("option ElectionTimeout is %v, expected at least five heartbeats of %v", o.ElectionTimeout, o.Heartbeat)
	case o.AuthTokenTTL < 0 || o.AuthTokenTTL%time.Second != 0:
		return o, fmt.Errorf("option AuthTokenTTL is %v, expected whole seconds", o.AuthTokenTTL)
	}
	return o, nil
}
