package trial

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// brokenConn is a connection of mem whose sessions break promises.
type brokenConn struct {
	driver.Conn
	spoil func(driver.Session) driver.Session
}

func (c brokenConn) Caps() driver.Caps { return driver.CapShared }

func (c brokenConn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := c.Conn.OpenSession(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return c.spoil(s), nil
}

func broken(by func(driver.Session) driver.Session) func(driver.Conn) driver.Conn {
	return func(c driver.Conn) driver.Conn { return brokenConn{c, by} }
}

// plain has the methods of a session and no optional ones.
type plain struct{ driver.Session }

// late is a session whose loss is told a TTL too late.
type late struct {
	plain
	done chan struct{}
}

var tellsLate = broken(func(s driver.Session) driver.Session {
	l := late{plain{s}, make(chan struct{})}
	go func() {
		<-s.Done()
		if errors.Is(s.Err(), driver.ErrSessionLost) {
			time.Sleep(s.TTL())
		}
		close(l.done)
	}()
	return l
})

func (s late) Done() <-chan struct{} { return s.done }

func (s late) Err() error {
	select {
	case <-s.done:
		return s.Session.Err()
	default:
		return nil
	}
}

// keeper leaves an entry behind when it has deleted the last one of a line.
type keeper struct{ plain }

var keepsEntries = broken(func(s driver.Session) driver.Session { return keeper{plain{s}} })

func (s keeper) Delete(ctx context.Context, n driver.Node) error {
	if err := s.Session.Delete(ctx, n); err != nil {
		return err
	}
	if left, err := s.List(ctx, n.Dir); err != nil || len(left) > 0 {
		return err
	}
	_, err := s.Create(ctx, n.Dir, n.ID+"0", n.Data)
	return err
}

// deaf is a session whose waits end with it only.
type deaf struct{ plain }

var waitsForEver = broken(func(s driver.Session) driver.Session { return deaf{plain{s}} })

func (s deaf) WaitDelete(ctx context.Context, _ driver.Node) error {
	select { // either says why
	case <-ctx.Done():
		return ctx.Err()
	case <-s.Done():
		return s.Err()
	}
}

// slow is a session whose waits go on after their ctx has ended.
type slow struct{ plain }

var waitsLonger = broken(func(s driver.Session) driver.Session { return slow{plain{s}} })

func (s slow) WaitDelete(ctx context.Context, n driver.Node) error {
	err := s.Session.WaitDelete(ctx, n)
	if ctx.Err() != nil {
		time.Sleep(10 * short)
	}
	return err
}

// odd is a session that refuses some entries for no reason.
type odd struct {
	plain
	n *atomic.Int64
}

var failsOddly = broken(func(s driver.Session) driver.Session { return odd{plain{s}, new(atomic.Int64)} })

func (s odd) Create(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
	if s.n.Add(1)%5 == 0 {
		return driver.Node{}, errors.New("odd")
	}
	return s.Session.Create(ctx, dir, id, data)
}

// brief is a session that ends after a TTL although it is renewed.
type brief struct {
	late
}

var endsEarly = broken(func(s driver.Session) driver.Session {
	l := late{plain{s}, make(chan struct{})}
	go func() {
		select { // either ends it
		case <-s.Done():
		case <-time.After(3 * ttl):
		}
		close(l.done)
	}()
	return brief{l}
})

func (s brief) Err() error {
	select {
	case <-s.done:
		return &driver.Error{Op: "keepalive", Kind: driver.ErrSessionLost}
	default:
		return nil
	}
}
