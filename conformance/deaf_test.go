package conformance_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// deafLink is a network after whose resets waits do not hear anything until the next one.
type deafLink struct {
	conformance.Link
	mu     sync.Mutex
	turned chan struct{} // closed at the next reset
}

func (l *deafLink) DropConnections() {
	l.mu.Lock()
	close(l.turned)
	l.turned = make(chan struct{})
	l.mu.Unlock()
	l.Link.DropConnections()
}

func (l *deafLink) nextReset() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.turned
}

// deafConn has no fast paths, so that all who wait for others do so in WaitDelete.
type deafConn struct {
	wrappingConn
	link *deafLink
}

func (c deafConn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := c.wrappingConn.OpenSession(ctx, ttl)
	return deafSession{s, c.link}, err
}

type deafSession struct {
	driver.Session
	link *deafLink
}

func (s deafSession) WaitDelete(ctx context.Context, n driver.Node) error {
	reset := s.link.nextReset()
	err := s.Session.WaitDelete(ctx, n)
	select {
	case <-reset:
	default:
		return err
	}
	select {
	case <-s.link.nextReset():
	case <-ctx.Done():
	case <-s.Done():
	}
	return err
}

// Who hears of nothing after a reset is found out by the crowds that are disturbed,
// though the next reset would wake him. It takes some runs: he has to wait for somebody
// of another client when his is reset for the last time.
func TestDeafAfterReset(t *testing.T) {
	const most = 50
	for _, id := range []string{"M1", "P1", "R1"} {
		found := false
		for run := 0; !found && run < most; run++ {
			bubble(t, func(t *testing.T) {
				h := memHarness(time.Second)
				h.Timeout = 30 * time.Second
				relink(&h, func(c driver.Conn, l conformance.Link) (driver.Conn, conformance.Link) {
					deaf := &deafLink{Link: l, turned: make(chan struct{})}
					return deafConn{wrappingConn{c, slowly}, deaf}, deaf
				})
				found = check(t, h, pick(t, id)...).Results[0].Status == conformance.Failed
			})
		}
		if !found {
			t.Errorf("%s passed %d times", id, most)
		}
	}
}
