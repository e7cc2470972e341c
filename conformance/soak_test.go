package conformance_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/soak"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/report"
)

// All recipes keep their promises on the reference driver, with its fast paths
// and without, under all faults that it can suffer. Time is virtual: nothing is
// slow but by a fault, and four minutes last seconds.
func TestSoak(t *testing.T) {
	for name, h := range map[string]conformance.Harness{
		"fast paths":    memHarness(time.Second),
		"no fast paths": plain(memHarness(time.Second)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := soak.Test(t, h, soak.Options{Duration: 4 * time.Minute, Exact: true})
				report.Show(t, "random faults on mem, virtual time, "+name, r.String())
			})
		})
	}
}

// plain hides the optional interfaces of a driver, so that what stands in for
// them is used.
func plain(h conformance.Harness) conformance.Harness {
	return wrapped(h, func(c driver.Conn) driver.Conn { return plainConn{c} })
}

type plainConn struct{ driver.Conn }

func (c plainConn) Caps() driver.Caps {
	return c.Conn.Caps() &^ (driver.CapCreateList | driver.CapWaitAny | driver.CapWatch)
}

func (c plainConn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := c.Conn.OpenSession(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return struct{ driver.Session }{s}, nil
}

// closing closes what was opened, for drivers that forget to.
func closing(h conformance.Harness) (_ conformance.Harness, end func()) {
	var mu sync.Mutex
	var all []driver.Conn
	h = wrapped(h, func(c driver.Conn) driver.Conn {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, c)
		return c
	})
	return h, func() {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range all {
			_ = c.Close() // a second time, for most
		}
	}
}

// wrapped wraps every connection of a harness.
func wrapped(h conformance.Harness, wrap func(driver.Conn) driver.Conn) conformance.Harness {
	in := h
	h.Open = func(ctx context.Context, namespace string) (driver.Conn, error) {
		c, err := in.Open(ctx, namespace)
		if err != nil {
			return nil, err
		}
		return wrap(c), nil
	}
	h.OpenLink = func(ctx context.Context, namespace string) (driver.Conn, conformance.Link, error) {
		c, l, err := in.OpenLink(ctx, namespace)
		if err != nil {
			return nil, nil, err
		}
		return wrap(c), l, nil
	}
	return h
}
