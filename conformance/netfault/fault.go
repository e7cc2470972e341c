package netfault

import (
	"errors"
	"fmt"
	"time"
)

// faults is what is wrong with a proxy at present. The zero value is a good
// network.
type faults struct {
	frozen Direction
	holed  Direction
	delay  [2]time.Duration // by Direction.index
	cut    bool
	reject bool
	trap   *trap // set by DropNextReply
}

// trap is shared by all the proxies it was set on: the first request springs it
// for all of them.
type trap struct{ sprung bool }

// Freeze stops the bytes of direction d: they are neither forwarded nor lost,
// and connections stay open. The proxy goes on reading until a bounded buffer
// (1 MiB per connection and direction) is full; then the sender feels
// backpressure. Thaw or Heal delivers what was held, in order.
//
// New connections are accepted, and what they send is held likewise. While Up
// is frozen the proxy does not connect them to the target either: to the server,
// a frozen client does not exist. (An attempt to connect that was under way may
// still succeed; nothing follows it.)
//
// Freezing adds to what is frozen already.
func (c *Control) Freeze(d Direction) {
	c.apply(func(p *Proxy) { p.faults.frozen |= d })
}

// Thaw ends Freeze for direction d and leaves every other fault alone. For a
// reply lost for sure: Freeze(Up), WaitHeld(Up), DropReplies, Thaw(Up).
func (c *Control) Thaw(d Direction) {
	c.apply(func(p *Proxy) { p.faults.frozen &^= d })
}

// Blackhole silently discards every byte and every end of stream of direction
// d, those held by Freeze or Delay included. Connections stay open and are
// dead that way: one that lost anything is reset by Heal, one that lost nothing
// lives on. While Up is a black hole, new connections are accepted but not
// connected to the target, as if the proxy had answered in its place.
func (c *Control) Blackhole(d Direction) {
	c.apply(func(p *Proxy) { p.faults.holed |= d })
}

// DropReplies is Blackhole(Down): requests reach the server and are applied, no
// reply comes back.
func (c *Control) DropReplies() { c.Blackhole(Down) }

// DropNextReply loses one reply: the next bytes that pass up, on any one
// connection, are let through; the next bytes that the server sends on that
// connection are discarded, and the connection is reset in their place, to both
// sides. Replies read before are still delivered. It happens once, also for a
// Group, and Heal calls it off if no reply was lost yet.
//
// It is exact for a protocol of one request and one reply at a time. Where
// requests are pipelined or multiplexed (ZooKeeper, HTTP/2 and so gRPC), the
// bytes that pass may be a ping and the bytes lost another request's reply, and
// the reset fails every request of the connection.
func (c *Control) DropNextReply() {
	t := new(trap)
	c.apply(func(p *Proxy) { p.faults.trap = t })
}

// Delay delivers each chunk of direction d no sooner than delay after the proxy
// read it, in order; zero or less ends it. It applies at once to what is on its
// way. Up to 1 MiB per connection and direction is on its way at a time, which
// bounds throughput to 1 MiB per delay. Accepting and connecting are not
// delayed.
func (c *Control) Delay(d Direction, delay time.Duration) {
	c.apply(func(p *Proxy) {
		for _, one := range []Direction{Up, Down} {
			if d.has(one) {
				p.faults.delay[one.index()] = max(0, delay)
			}
		}
	})
}

// Cut resets every live connection, as DropConnections does, and refuses new
// ones until Heal: the server is down.
//
// On Linux the listener is closed while the port is kept, so a client's connect
// fails with "connection refused". This is what a client may take as proof that
// nothing it sent was applied; after an accept and a reset it could not tell.
// Elsewhere the port could not be kept from being taken by somebody else, so
// there a new connection is accepted and reset at once.
func (c *Control) Cut() {
	c.apply(func(p *Proxy) {
		p.faults.cut = true
		p.refuse()
		p.resetAll()
	})
}

// Reject resets every live connection, and until Heal each new one as soon as it
// is accepted: something listens, and there is no server behind it. A client
// cannot tell whether what it sent arrived. Unlike those that Cut refuses, these
// connections are counted (Stats.Accepted), so that a client which tries again
// without a pause is found out.
func (c *Control) Reject() {
	c.apply(func(p *Proxy) {
		p.faults.reject = true
		p.resetAll()
	})
}

// DropConnections resets every live connection, to both sides, and throws away
// what it held. New ones are accepted. A connection that the operating system
// has established but the proxy has not accepted yet is a new one: wait for it
// with WaitConns first.
func (c *Control) DropConnections() {
	c.apply(func(p *Proxy) { p.resetAll() })
}

// Heal ends every fault. Held bytes are delivered, late; connections that lost
// something are reset; a cut proxy listens again on its old port. It fails only
// if the operating system does not let it listen again; calling it again then
// tries again.
func (c *Control) Heal() error {
	var errs []error
	c.apply(func(p *Proxy) {
		if err := p.listenAgain(); err != nil {
			errs = append(errs, fmt.Errorf("netfault: listening again on %s: %w", p.addr, err))
			p.faults = faults{cut: true}
		} else {
			p.faults = faults{}
		}
		for l := range p.links {
			l.trapped = false
			if l.lossy {
				l.end(true)
			}
		}
	})
	return errors.Join(errs...)
}
