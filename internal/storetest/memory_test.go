package storetest

import (
	"net"
	"testing"

	"golang.org/x/net/nettest"

	"github.com/coordkit/coordkit/conformance/netfault"
)

// A connection of a netfault.Memory is a net.Conn in every respect. The test is here so that
// the library itself need not depend on what it is tested by.
func TestMemoryConn(t *testing.T) {
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		var network netfault.Memory
		l := network.Listen()
		if c1, err = network.DialContext(t.Context(), "tcp", l.Addr().String()); err != nil {
			return nil, nil, nil, err
		}
		if c2, err = l.Accept(); err != nil {
			return nil, nil, nil, err
		}
		return c1, c2, func() {
			_ = c1.Close() // which the test may have closed
			_ = c2.Close()
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}, nil
	})
}
