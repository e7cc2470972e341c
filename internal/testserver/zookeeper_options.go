package testserver

import (
	"fmt"
	"time"
)

// ZooKeeperOptions says how to run an ensemble. The zero value is a single
// server that grants short sessions.
type ZooKeeperOptions struct {
	// Members is 1 or 3; 0 means 1.
	Members int
	// TickTime is ZooKeeper's unit of time, in whole milliseconds; 0 means 200
	// ms. Servers look for expired sessions once in a tick. A leader or a
	// follower that is silent for 5 ticks is given up.
	TickTime time.Duration
	// MinSessionTimeout is the shortest timeout of a session that is granted, in
	// whole milliseconds; 0 means 2 ticks.
	MinSessionTimeout time.Duration
	// MaxSessionTimeout is the longest one; 0 means 40 s, as of ZooKeeper with
	// its usual tick.
	MaxSessionTimeout time.Duration
	// TLS makes the members serve clients with TLS only, and demand a certificate
	// of them; see [ZooKeeper.TLS] for what they need.
	TLS bool
	// SuperPassword is the password of the user super, who may do everything
	// whatever the access control lists say, with the scheme digest. Empty means
	// that there is no such user.
	SuperPassword string
	// PeerAddr has the members reach each other by other ways than the direct
	// one, such as through proxies that can cut one of them off. It is called for
	// both ports that member to serves the others on, for data and for votes,
	// with the port's host:port, and returns the one of 127.0.0.1 that member
	// from is to connect to instead. nil means the direct way. It is called
	// again with other ports if one of them turns out to be taken.
	//
	// A member that was called by one with a lower index may call back, for
	// votes only, by the direct way: the address is part of the call.
	PeerAddr func(from, to int, addr string) (string, error)
	// JavaFlags are those of the members' Java machines; nil means what makes them
	// small and soon there, though not fast: three share a processor with the tests.
	JavaFlags []string
	// ExtraConfig is further settings in every member's zoo.cfg, and takes
	// precedence. To give up durability for speed: {"forceSync": "no"}. A
	// server accepts 60 connections from one address unless told otherwise with
	// maxClientCnxns.
	ExtraConfig map[string]string
}

// withDefaults returns the options with the zero values replaced, or an error
// that says which is wrong.
func (o ZooKeeperOptions) withDefaults() (ZooKeeperOptions, error) {
	if o.Members == 0 {
		o.Members = 1
	}
	if o.TickTime == 0 {
		o.TickTime = 200 * time.Millisecond
	}
	if o.MinSessionTimeout == 0 {
		o.MinSessionTimeout = 2 * o.TickTime
	}
	if o.MaxSessionTimeout == 0 {
		o.MaxSessionTimeout = 40 * time.Second
	}
	if o.JavaFlags == nil {
		o.JavaFlags = []string{"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}
	}
	if o.Members != 1 && o.Members != 3 {
		return o, fmt.Errorf("option Members is %d, expected 1 or 3", o.Members)
	}
	for _, option := range []struct {
		name  string
		value time.Duration
	}{
		{"TickTime", o.TickTime},
		{"MinSessionTimeout", o.MinSessionTimeout},
		{"MaxSessionTimeout", o.MaxSessionTimeout},
	} {
		if option.value < time.Millisecond || option.value%time.Millisecond != 0 {
			return o, fmt.Errorf("option %s is %v, expected whole milliseconds", option.name, option.value)
		}
	}
	if o.MaxSessionTimeout < o.MinSessionTimeout {
		return o, fmt.Errorf("option MaxSessionTimeout is %v, expected at least MinSessionTimeout of %v", o.MaxSessionTimeout, o.MinSessionTimeout)
	}
	return o, nil
}
