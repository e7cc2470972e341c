package zk

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
)

// What can be asked for: milliseconds in 32 bits. What is granted lies between
// bounds that each server has in its configuration, so that only opening a
// session tells.
const (
	minTTL = time.Millisecond
	maxTTL = math.MaxInt32 * time.Millisecond
)

// OpenSession implements driver.Conn. If the reply is lost, or says something
// else than was asked for, the session that it was about expires by itself.
func (c *conn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	o := op{name: "open session", write: true}
	if ttl <= 0 || ttl > maxTTL {
		return nil, invalid(o, "a TTL of %v; ZooKeeper grants from %v to %v, within bounds that its servers' configuration sets",
			ttl, minTTL, maxTTL)
	}
	if ttl%time.Millisecond != 0 {
		return nil, invalid(o, "a TTL of %v; ZooKeeper grants whole milliseconds, from %v to %v", ttl, minTTL, maxTTL)
	}
	if ctx.Err() != nil {
		return nil, unsent(o, ctx)
	}
	o.limit = max(timingFor(ttl).attempt, 2*leastOpening)
	s := &session{conn: c, ttl: ttl, said: make(chan struct{})}
	if err := s.connect(); err != nil {
		return nil, err
	}
	defer c.running.Done()
	opening, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(c.life, cancel)
	defer stop()
	err := s.establish(opening, o)
	if err == nil {
		return s, nil
	}
	c.dispose(s.link)
	if c.life.Err() != nil && ctx.Err() == nil {
		return nil, failed(o, driver.ErrClosed, nil)
	}
	return nil, err
}

// connect has a link ask for the session. Without an error the connection's
// Close waits until the caller says that it is done.
func (s *session) connect() error {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return failed(op{name: "open session"}, driver.ErrClosed, nil)
	}
	l, err := connect(c.peers, s.ttl, c.log, s.over)
	if err != nil {
		return failed(op{name: "open session"}, nil, err)
	}
	s.link, l.watches.foreign = l, c.strike
	c.running.Add(1)
	return nil
}

// establish waits for the session, checks what it is, makes its fence and
// begins to keep it.
func (s *session) establish(ctx context.Context, o op) error {
	attempt, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	l := s.link
	if err := l.await(attempt, l.over, func() bool { return l.up }); err != nil {
		return l.notOpened(ctx, o)
	}
	if err := l.ended(); err != nil {
		return l.notOpened(ctx, o)
	}
	l.mu.Lock()
	session, granted, sent := l.session, l.granted, l.begun
	l.mu.Unlock()
	s.id = session
	o.key = s.ID()
	if granted != s.ttl {
		bound := "the least"
		if granted < s.ttl {
			bound = "the most"
		}
		return invalid(o, "a TTL of %v; %s that this ZooKeeper grants, by its configuration, is %v", s.ttl, bound, granted)
	}
	f, err := s.newFence(ctx, o)
	if err != nil {
		return err
	}
	s.fence = f
	s.start(sent)
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed { // in the meantime
		s.end()
		s.lease.Wait()
		return s.Err()
	}
	c.sessions[s] = struct{}{}
	c.running.Go(s.attend)
	return nil
}

// notOpened is the error of a session that was not granted, as far as is known.
func (l *link) notOpened(ctx context.Context, o op) error {
	l.mu.Lock()
	why, trouble, asked := l.why, l.trouble, l.asked
	l.mu.Unlock()
	kind := driver.ErrUnavailable
	if asked {
		kind = driver.ErrUncertain
	}
	switch {
	case errors.Is(why, gozk.ErrAuthFailed):
		return failed(o, driver.ErrDenied, gozk.ErrAuthFailed)
	case ctx.Err() != nil && trouble != nil:
		return failed(o, kind, fmt.Errorf("%w: %w", driver.ContextError(ctx), trouble))
	case ctx.Err() != nil:
		return failed(o, kind, driver.ContextError(ctx))
	case trouble != nil:
		return failed(o, kind, trouble)
	default:
		return failed(o, kind, errNoSession)
	}
}

var errNoSession = errors.New("no server has opened a session in time")
