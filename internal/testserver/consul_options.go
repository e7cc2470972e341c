package testserver

import (
	"fmt"
	"time"
)

// ConsulOptions says how to run a datacenter. The zero value is a single server
// with its data on disk and with Consul's own limits.
type ConsulOptions struct {
	// Members is 1 or 3; 0 means 1.
	Members int
	// SessionTTLMin is the shortest TTL of a session that is granted; 0 means
	// Consul's own, 10 s. Consul ends a session no earlier than twice its TTL
	// after the last renewal.
	SessionTTLMin time.Duration
	// ACL refuses whoever has no token; see [Consul.Token] for one.
	ACL bool
	// TLS makes the members serve clients with HTTPS only, and demand a
	// certificate of them; see [Consul.TLS] for what they need.
	TLS bool
	// Dev runs a single server in Consul's development mode: it starts in a
	// fraction of the time and keeps everything in memory, so that a restart
	// finds nothing.
	Dev bool
	// PeerHost has the members reach each other by other ways than the direct one,
	// such as through proxies that can cut one of them off. It is called with all
	// members' ports for the others, and returns the address, of 127.0.0.0/8, that all
	// advertise instead of 127.0.0.1, with the same ports. nil means the direct way. It
	// is called again with other ports if one of them turns out to be taken.
	PeerHost func(ports []ConsulPorts) (string, error)
	// ExtraConfig is further configuration for every member, in the structure of
	// Consul's JSON files. It takes precedence; lists are added to.
	ExtraConfig map[string]any
}

// ConsulPorts are a server's ports for the other servers: for what the leader sends and
// is sent, by TCP, and for gossip, by TCP and UDP.
type ConsulPorts struct{ RPC, Gossip int }

// withDefaults returns the options with the zero values replaced, or an error
// that says which is wrong.
func (o ConsulOptions) withDefaults() (ConsulOptions, error) {
	if o.Members == 0 {
		o.Members = 1
	}
	switch {
	case o.Members != 1 && o.Members != 3:
		return o, fmt.Errorf("option Members is %d, expected 1 or 3", o.Members)
	case o.SessionTTLMin < 0:
		return o, fmt.Errorf("option SessionTTLMin is %v, expected 0 or more", o.SessionTTLMin)
	case o.Dev && o.Members != 1:
		return o, fmt.Errorf("option Dev is set, expected it for 1 member and not for %d", o.Members)
	}
	return o, nil
}
