package netfault

import (
	"context"
	"fmt"
	"net"
)

// Stats is what a proxy, or all the proxies of a group together, have seen up
// to one moment.
type Stats struct {
	// Accepted is the number of connections accepted since the start, with
	// those that Reject has reset, and without those that Cut refused.
	Accepted int
	// Conns is the number of live connections: accepted, and not yet ended by
	// a reset or by a FIN passed on in each direction. A connection that its
	// client closed on a frozen link is live until the server can be told.
	Conns int
	// Open is how many of Conns the client has not closed, half-closed or
	// reset, as far as the proxy has read: it says what a client under test
	// has left behind, whatever the state of the link. (The proxy does not read
	// while the buffer of a held direction is full.)
	Open int
	// Up and Down count the bytes of each direction.
	Up, Down Flow
}

// Flow counts the bytes of one direction. Received is always the sum of
// Forwarded, Dropped and Held. Bytes count as forwarded once the write has returned, so a
// receiver may have them a moment before that: wait for a count, rather than
// look once.
type Flow struct {
	// Received is what the proxy read from the sender.
	Received int64
	// Reads is how many reads that took: a request that is sent when it is
	// wanted is one, or a few.
	Reads int64
	// Forwarded is what it wrote to the receiver.
	Forwarded int64
	// Dropped is what it discarded: by a fault, by Close, or because the
	// receiver was gone.
	Dropped int64
	// Held is what it has read and neither forwarded nor dropped. Without a
	// fault it soon falls to zero, unless the receiver does not read.
	Held int64
}

func (f *Flow) add(g Flow) {
	f.Received += g.Received
	f.Reads += g.Reads
	f.Forwarded += g.Forwarded
	f.Dropped += g.Dropped
	f.Held += g.Held
}

// held is the bytes held in the directions of d.
func (s Stats) held(d Direction) (n int64) {
	if d.has(Up) {
		n += s.Up.Held
	}
	if d.has(Down) {
		n += s.Down.Held
	}
	return n
}

// Stats returns the counters, all taken at one moment.
func (c *Control) Stats() Stats {
	c.hub.Lock()
	defer c.hub.Unlock()
	stats, _ := c.stats()
	return stats
}

// stats also reports whether all proxies are closed, after which the counters
// change no more. The caller holds the lock.
func (c *Control) stats() (s Stats, closed bool) {
	closed = true
	for _, p := range c.proxies {
		s.Accepted += p.accepted
		s.Conns += len(p.links)
		for l := range p.links {
			if !l.up.ended {
				s.Open++
			}
		}
		s.Up.add(p.flows[Up.index()])
		s.Down.add(p.flows[Down.index()])
		closed = closed && p.closed
	}
	return s, closed
}

// Conns returns the number of live connections: Stats.Conns.
func (c *Control) Conns() int { return c.Stats().Conns }

// Held returns the number of bytes held in direction d (for Both, in the two
// together): Flow.Held.
func (c *Control) Held(d Direction) int64 { return c.Stats().held(d) }

// Wait returns nil as soon as cond is true of the counters. It looks at once
// and then after each change; changes in quick succession may be seen as one,
// so a condition should be one that stays true. cond is called without a lock
// held and from the calling goroutine only.
//
// ctx bounds the wait; its error is wrapped. If the proxies are closed and cond
// is not true, it never will be, and the error wraps net.ErrClosed.
func (c *Control) Wait(ctx context.Context, cond func(Stats) bool) error {
	return c.wait(ctx, "a condition", cond)
}

// WaitConns waits until exactly n connections are live. See Wait.
func (c *Control) WaitConns(ctx context.Context, n int) error {
	return c.wait(ctx, fmt.Sprintf("%d live connections", n), func(s Stats) bool { return s.Conns == n })
}

// WaitHeld waits until bytes are held in direction d (for Both, in either): a
// request or a reply is stuck in the frozen or delayed link. Without such a
// fault it may return for bytes that are merely passing. See Wait.
func (c *Control) WaitHeld(ctx context.Context, d Direction) error {
	return c.wait(ctx, fmt.Sprintf("bytes held %s", d), func(s Stats) bool { return s.held(d) > 0 })
}

func (c *Control) wait(ctx context.Context, what string, cond func(Stats) bool) error {
	for {
		c.hub.Lock()
		stats, closed := c.stats()
		changed := c.hub.watch()
		c.hub.Unlock()
		if cond(stats) {
			return nil
		}
		if closed {
			return fmt.Errorf("netfault: waiting for %s: %w (counters %+v)", what, net.ErrClosed, stats)
		}
		// changed was taken under the lock under which stats was, so no change
		// is missed. If both are ready either will do: a changed that hides an
		// ended ctx costs one more look, which may find cond true.
		select {
		case <-ctx.Done():
			return fmt.Errorf("netfault: waiting for %s: %w (counters %+v)", what, ctx.Err(), stats)
		case <-changed:
		}
	}
}
