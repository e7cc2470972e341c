//go:build !linux

package netfault

import (
	"io"
	"net"
)

// listen listens on a free loopback port. Nothing holds the port beyond the
// listener, which therefore has to stay open during a Cut.
func listen() (*net.TCPListener, io.Closer, error) {
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	return listener, nil, err
}

// newDialer makes connections whose server may see an orderly end if they are
// given up at the very moment they are made.
func newDialer() *net.Dialer { return new(net.Dialer) }
