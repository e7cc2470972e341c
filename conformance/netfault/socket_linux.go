package netfault

import (
	"io"
	"net"
	"os"
	"syscall"
)

// listen listens on a free loopback port, and holds the port by a second socket
// until that is closed.
//
// The second socket is bound but never listens. Linux lets a listener bind next
// to it, as both have SO_REUSEADDR (which package net sets), refuses connections
// while there is no listener, and gives a port that has a socket bound to
// nobody who asks for a free one. So the port survives the listener, and a cut
// proxy cannot lose it.
func listen() (*net.TCPListener, io.Closer, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socket", err)
	}
	port := os.NewFile(uintptr(fd), "port held by netfault")
	addr, err := bind(fd)
	if err == nil {
		var listener *net.TCPListener
		if listener, err = net.ListenTCP("tcp4", addr); err == nil {
			return listener, port, nil
		}
	}
	_ = port.Close() // err says more
	return nil, nil, err
}

// bind gives the socket a free loopback port.
func bind(fd int) (*net.TCPAddr, error) {
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return nil, os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return nil, os.NewSyscallError("bind", err)
	}
	sa, err := syscall.Getsockname(fd)
	if err != nil {
		return nil, os.NewSyscallError("getsockname", err)
	}
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: sa.(*syscall.SockaddrInet4).Port}, nil
}

// newDialer makes connections that are closed by a reset as long as nobody sets
// their SO_LINGER to something else. A dial that is given up may have reached
// the server already, which would see the end of it as an orderly one otherwise.
func newDialer() *net.Dialer {
	return &net.Dialer{Control: func(_, _ string, conn syscall.RawConn) error {
		var failed error
		err := conn.Control(func(fd uintptr) {
			failed = syscall.SetsockoptLinger(int(fd), syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
		})
		if err == nil {
			err = os.NewSyscallError("setsockopt", failed)
		}
		return err
	}}
}
