package mem

import (
	"context"
	"fmt"
	"time"
)

// Direction says which way a message goes. Its values combine with |, and are
// those of netfault.Direction, so that one converts to the other.
type Direction uint8

const (
	// Up is from the client to the store: requests.
	Up Direction = 1 << iota
	// Down is from the store to the client: replies and events.
	Down
	// Both is Up and Down.
	Both = Up | Down
)

// String returns "up", "down" or "both".
func (d Direction) String() string {
	switch d {
	case Up:
		return "up"
	case Down:
		return "down"
	case Both:
		return "both"
	}
	return fmt.Sprintf("Direction(%d)", uint8(d))
}

// Op is a kind of request.
type Op string

// The kinds of requests. A Create and a CreateList are both OpCreate, a
// WaitDelete and a WaitAny both OpWait; OpRenew is the keepalive of a session.
// OpWatch is what Watch sends for each state that it shows.
const (
	OpOpen    Op = "open session"
	OpRenew   Op = "renew"
	OpCreate  Op = "create"
	OpAbandon Op = "abandon"
	OpList    Op = "list"
	OpWait    Op = "wait"
	OpWatch   Op = "watch"
	OpUpdate  Op = "update"
	OpDelete  Op = "delete"
	OpClose   Op = "close session"
)

// Freeze stops direction d: what is sent is neither delivered nor lost. Thaw or
// Heal delivers it, in order, also what nobody waits for any more. Freezing
// adds to what is frozen already.
func (l *Link) Freeze(d Direction) { l.each(d, func(p *pipe) { p.frozen = true }) }

// Thaw ends Freeze for direction d and leaves every other fault alone.
func (l *Link) Thaw(d Direction) { l.each(d, func(p *pipe) { p.frozen = false }) }

// Blackhole silently discards what is sent in direction d, and what Freeze or
// Delay holds in it. Calls get no reply until Heal, which resets the connection
// if anything was lost.
func (l *Link) Blackhole(d Direction) { l.each(d, func(p *pipe) { p.holed = true }) }

// DropReplies is Blackhole(Down): requests are applied, no reply comes back.
func (l *Link) DropReplies() { l.Blackhole(Down) }

// Delay delivers each message of direction d no sooner than delay after it was
// sent, in order; zero or less ends it. It applies at once to what is on its
// way.
func (l *Link) Delay(d Direction, delay time.Duration) {
	l.each(d, func(p *pipe) { p.delay = max(0, delay) })
}

func (l *Link) each(d Direction, change func(*pipe)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d&Up != 0 {
		change(&l.up)
	}
	if d&Down != 0 {
		change(&l.down)
	}
	l.flow()
}

// DropNextReply lets the next request of one of the kinds given (of any kind
// but OpRenew if none is) be applied and then resets the connection in place of
// the reply: the call fails at once with driver.ErrUncertain. Calling it n
// times is meant for n requests.
func (l *Link) DropNextReply(kinds ...Op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop = append(l.drop, kinds)
	l.flow()
}

// LoseNextRequest refuses the next request of one of the kinds given (of any
// kind but OpRenew if none is): it is not applied and fails at once with
// driver.ErrUnavailable. Calling it n times is meant for n requests.
func (l *Link) LoseNextRequest(kinds ...Op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose = append(l.lose, kinds)
	l.flow()
}

// Cut resets the connection, as DropConnections does, and refuses every request
// with driver.ErrUnavailable until Heal.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	l.reset()
	l.flow()
}

// DropConnections resets the connection: calls that wait for a reply fail with
// driver.ErrUncertain, and what is on its way, news of a change too, is thrown
// away. The next call gets through.
func (l *Link) DropConnections() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reset()
	l.flow()
}

// Heal ends every fault and calls off those that wait for a request. If
// anything was lost in silence, the connection is reset; otherwise what was
// held is delivered before Heal returns. What Hold has caught stays caught. It
// never fails; its error is there for likeness with package netfault.
func (l *Link) Heal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lossy {
		l.reset()
	}
	if l.cut {
		l.turn()
	}
	l.cut = false
	l.lose, l.drop, l.holds = nil, nil, nil
	for _, p := range []*pipe{&l.up, &l.down} {
		p.frozen, p.holed, p.delay = false, false, 0
	}
	l.flow()
	return nil
}

// Requests returns how many requests were sent since it was called first, with
// those that were refused or lost.
func (l *Link) Requests() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.counting {
		l.counting, l.requests = true, 0
		l.flow()
	}
	return l.requests
}

// Held returns how many messages are held in direction d by Freeze or Delay.
func (l *Link) Held(d Direction) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held(d)
}

func (l *Link) held(d Direction) (n int) {
	if d&Up != 0 {
		n += len(l.up.queue)
	}
	if d&Down != 0 {
		n += len(l.down.queue)
	}
	return n
}

// WaitHeld waits until a message is held in direction d (for Both, in either).
// ctx bounds the wait; its error is wrapped.
func (l *Link) WaitHeld(ctx context.Context, d Direction) error {
	for {
		l.mu.Lock()
		if l.held(d) > 0 {
			l.mu.Unlock()
			return nil
		}
		changed := make(chan struct{})
		l.waiters = append(l.waiters, changed) // under the lock under which was looked: none is missed
		l.mu.Unlock()
		// If both are ready either will do: at worst it looks once more.
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("mem: waiting for a message held in the link: %w", ctx.Err())
		}
	}
}
