package zk

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/coordkit/coordkit/drivers/internal/secure"
)

// provider tells the library which host to dial. It resolves no names, as the
// dialer does that each time, and keeps the library from its pauses of a second.
type provider struct{ link *link }

// Init implements the library's HostProvider.
func (p provider) Init([]string) error { return nil }

// Len implements the library's HostProvider.
func (p provider) Len() int { return len(p.link.peers.hosts) }

// Connected implements the library's HostProvider.
func (p provider) Connected() {}

// Next implements the library's HostProvider. The second result makes the
// library look whether it has been closed.
func (p provider) Next() (host string, pause bool) {
	l := p.link
	l.mu.Lock()
	defer l.mu.Unlock()
	host = l.peers.hosts[l.next%len(l.peers.hosts)]
	l.next++
	return host, l.ctx.Err() != nil || !l.mayDial()
}

// mayDial reports whether the session may still be carried to a server. The
// caller holds the lock.
func (l *link) mayDial() bool { return !l.expired && (l.why == nil || l.parting) }

// errNoDial is what the library gets when there is no use in dialing.
var errNoDial = errors.New("the session is over, and there will not be another")

// dial is the library's dialer.
func (l *link) dial(host string) (net.Conn, error) {
	w, err := l.open(host)
	if err != nil {
		l.failing(host, err)
		return nil, err
	}
	return w, nil
}

// failing keeps what went wrong with a connection, up to the answer to the
// handshake, for the errors of calls.
func (l *link) failing(host string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() == nil && l.mayDial() {
		l.trouble = fmt.Errorf("%s: %w", host, notOfACtx(early(err)))
	}
}

// notOfACtx keeps the end of a time that the driver gave itself from passing for the
// end of the caller's ctx.
func notOfACtx(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return errors.New(err.Error())
	}
	return err
}

// errOutlived ends a link that no server has taken back for its timeout.
var errOutlived = errors.New("no server has taken the session back before its timeout")

// outlived reports whether a link in use has been without a server for so long that
// its session is over, or as good as that. Who holds something by it knows of that
// from the lease; who only looks has none. Servers that were set back to an earlier
// state turn the link away for ever, for it has seen a later one.
func (l *link) outlived() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why == nil && !l.up && l.granted > 0 && !l.left.IsZero() && time.Since(l.left) > l.granted
}

func (l *link) open(host string) (*wire, error) {
	if err := l.pace(); err != nil {
		return nil, err
	}
	if l.outlived() {
		l.lose(errOutlived)
		return nil, errNoDial
	}
	limit := l.connectLimit()
	ctx, cancel := context.WithTimeout(l.ctx, limit)
	defer cancel()
	conn, err := l.peers.dial(ctx, host)
	if err != nil {
		return nil, err
	}
	if l.peers.tls != nil {
		if conn, err = secure.Client(ctx, conn, host, l.peers.tls); err != nil {
			return nil, err
		}
	}
	w := newWire(l, conn, host, limit)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shut || !l.mayDial() {
		_ = conn.Close()
		return nil, errNoDial
	}
	l.wire = w
	return w, nil
}

// connectLimit is how long one attempt to connect may take.
func (l *link) connectLimit() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == 0 {
		return l.timing.opening
	}
	return l.timing.connect
}

// The least time between two attempts to connect, and the pause after each of
// all hosts has failed for the first time.
const (
	leastPause = 10 * time.Millisecond
	firstPause = 20 * time.Millisecond

	// lasting is how long a connection must have lasted not to count as a
	// failure.
	lasting = 100 * time.Millisecond
)

// pace waits until it is time for the next attempt: at once after a connection
// is lost, and with growing pauses once every host has failed. The pauses are
// random by half, so that clients which lost a server together do not come back
// together.
func (l *link) pace() error {
	l.mu.Lock()
	rounds := l.tries / len(l.peers.hosts)
	wait := leastPause - time.Since(l.dialed)
	if rounds > 0 {
		pause := max(min(firstPause<<min(rounds-1, 10), l.timing.pause), leastPause)
		wait = pause/2 + rand.N(pause)
	}
	l.mu.Unlock()
	if wait > 0 {
		sleep(l.ctx, wait)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil || !l.mayDial() {
		return errNoDial
	}
	l.tries++
	l.dialed = time.Now()
	return nil
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select { // if both are ready, whoever comes next finds out
	case <-timer.C:
	case <-ctx.Done():
	}
}

// chatter makes the library's words debug messages. None of them holds a
// secret.
type chatter struct{ log *zap.Logger }

// Printf implements the library's Logger.
func (c chatter) Printf(format string, args ...any) {
	if c.log.Core().Enabled(zap.DebugLevel) {
		c.log.Debug(fmt.Sprintf(format, args...))
	}
}
