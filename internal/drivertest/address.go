package drivertest

import (
	"net"
	"testing"
)

// Silent returns an address that accepts connections and never answers, until the end of
// the test.
func Silent(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	t.Cleanup(func() { Must(t, l.Close()) })
	return l.Addr().String()
}

// Refusing returns an address where nobody listens.
func Refusing(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	Must(t, l.Close())
	return l.Addr().String()
}
