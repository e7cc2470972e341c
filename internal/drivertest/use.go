package drivertest

import (
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// Opener returns the opener of the driver that is registered for a scheme.
func Opener(t testing.TB, scheme string) driver.Opener {
	t.Helper()
	o, err := driver.DefaultMux.Lookup(scheme)
	Must(t, err)
	return o
}

// Use opens a connection to a target, tries it out and closes it.
func Use(t testing.TB, target driver.Target, ttl time.Duration) {
	t.Helper()
	c, err := Opener(t, target.Scheme).Open(Within(t), target)
	Must(t, err)
	TryOut(t, c, ttl)
	Must(t, c.Close())
	_, err = c.List(Within(t), "d")
	WantIs(t, err, driver.ErrClosed)
}

// TryOut does a little of everything with a connection, in the directory "d", which must
// be empty and is so afterwards.
func TryOut(t testing.TB, c driver.Conn, ttl time.Duration) {
	t.Helper()
	s, err := c.OpenSession(Within(t), ttl)
	Must(t, err)
	n, err := s.Create(Within(t), "d", "0", nil)
	Must(t, err)
	wait := Waiting(Within(t), s, n)
	nodes, err := c.List(Within(t), "d")
	Must(t, err)
	if len(nodes) != 1 || !nodes[0].Same(n) {
		t.Errorf("listed %+v; want %+v", nodes, n)
	}
	Must(t, s.Delete(Within(t), n))
	Must(t, Receive(t, "the wait", wait))
	Must(t, s.Close(Within(t)))
	nodes, err = c.List(Within(t), "d")
	if err != nil || len(nodes) != 0 {
		t.Errorf("listed %+v, %v; want nothing", nodes, err)
	}
}

// CapsAgree fails the test unless the capabilities of a connection are the optional
// interfaces that it and its session have, and the others given.
func CapsAgree(t testing.TB, c driver.Conn, s driver.Session, others driver.Caps) {
	t.Helper()
	want := others
	if _, ok := driver.As[driver.CreateLister](s); ok {
		want |= driver.CapCreateList
	}
	if _, ok := driver.As[driver.AnyWaiter](s); ok {
		want |= driver.CapWaitAny
	}
	if _, ok := driver.As[driver.NameLister](s); ok {
		want |= driver.CapListNames
	}
	if _, ok := driver.As[driver.Watcher](c); ok {
		want |= driver.CapWatch
	}
	if caps := c.Caps(); caps != want {
		t.Errorf("the capabilities are %v; want %v", caps, want)
	}
}
