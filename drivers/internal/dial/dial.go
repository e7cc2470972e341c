// Package dial connects to the hosts of a store, one address after the other. A host name
// may have several addresses, of which some are dead: the first accepts and says nothing,
// closes what it accepts, or drops packets. So attempts go round all addresses of all
// hosts, and a name is resolved anew each time that its turn comes.
package dial

import (
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"time"
)

// Least is the least time between two attempts, and First the pause after each host has
// failed once.
const (
	Least = 10 * time.Millisecond
	First = 20 * time.Millisecond
)

// Network is how to reach what has a name: net.Resolver.LookupHost and
// net.Dialer.DialContext for TCP, or what a test has in their place.
type Network struct {
	Lookup func(ctx context.Context, host string) (addrs []string, err error)
	Dial   func(ctx context.Context, addr string) (net.Conn, error)
}

// TCP uses no proxy, whatever the environment says.
func TCP() Network {
	return Network{
		Lookup: net.DefaultResolver.LookupHost,
		Dial: func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		},
	}
}

// Any connects to one of the addresses of a host, "name:port". It tries all of them until
// one accepts, and begins with the one that first counts to. Those that are left share the
// time that ctx has.
func (n Network) Any(ctx context.Context, hostPort string, first uint64) (net.Conn, error) {
	name, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	addrs, err := n.Lookup(ctx, name)
	if err != nil {
		return nil, err
	}
	slices.Sort(addrs) // resolvers change their order
	err = &net.AddrError{Err: "the host has no address", Addr: name}
	for i := range addrs {
		part, cancel := ctx, context.CancelFunc(func() {})
		if due, ok := ctx.Deadline(); ok {
			part, cancel = context.WithTimeout(ctx, time.Until(due)/time.Duration(len(addrs)-i))
		}
		var conn net.Conn
		conn, err = n.Dial(part, net.JoinHostPort(addrs[(first+uint64(i))%uint64(len(addrs))], port))
		cancel()
		if err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// Rounds goes round the addresses of some hosts. One goroutine at a time uses it.
type Rounds struct {
	network Network
	hosts   []string
	most    time.Duration

	queue  []string // addresses of the current host that were not tried yet
	next   int      // index of the next host
	host   string
	rounds int // how often all hosts have failed
	last   time.Time
}

// New returns the rounds of hosts, which are "name:port", in random order. most is the
// longest pause between two attempts.
func New(network Network, hosts []string, most time.Duration) *Rounds {
	hosts = slices.Clone(hosts)
	rand.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	return &Rounds{network: network, hosts: hosts, most: most}
}

// Host is the host that was tried last.
func (r *Rounds) Host() string { return r.host }

// Reset begins a new round, after a connection that lasted.
func (r *Rounds) Reset() { r.rounds = 0 }

// Failed takes note that the attempt was of no use, and reports whether that ends a round.
func (r *Rounds) Failed() (ended bool) {
	if len(r.queue) > 0 || r.next > 0 {
		return false
	}
	r.rounds++
	return true
}

// Open connects to the next address, within limit. A name that cannot be resolved is one
// attempt. Once a round has ended Open waits before, longer each time, and random by half,
// so that clients that lost a server together do not come back together.
func (r *Rounds) Open(ctx context.Context, limit time.Duration) (net.Conn, error) {
	wait := Least - time.Since(r.last)
	if r.rounds > 0 {
		pause := max(min(First<<min(r.rounds-1, 10), r.most), Least)
		wait = max(wait, pause/2+rand.N(pause))
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
	r.last = time.Now()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if len(r.queue) == 0 {
		r.host, r.next = r.hosts[r.next], (r.next+1)%len(r.hosts)
		name, port, err := net.SplitHostPort(r.host)
		if err != nil {
			return nil, err
		}
		addrs, err := r.network.Lookup(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, i := range rand.Perm(len(addrs)) {
			r.queue = append(r.queue, net.JoinHostPort(addrs[i], port))
		}
	}
	addr := r.queue[0]
	r.queue = r.queue[1:]
	return r.network.Dial(ctx, addr)
}
