package testserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// reservedPort is a TCP port of 127.0.0.1 that the kernel hands to nobody else,
// neither to a bind to port 0 nor as the local port of an outgoing connection.
//
// A port that was merely found free could be taken before the server binds it,
// and, as it comes from the range of outgoing connections, while a killed server
// waits for its restart. So a socket stays bound to it. That socket does not
// listen, and both it and the server's set SO_REUSEADDR (as every listener of
// Go, Java and nginx does), hence the server may bind and listen (socket(7)).
type reservedPort struct {
	socket *os.File
	number int
}

func reservePort() (*reservedPort, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("reserve a port: %w", os.NewSyscallError("socket", err))
	}
	socket := os.NewFile(uintptr(fd), "reserved port")
	number, err := bindAny(fd)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reserve a port: %w", err), socket.Close())
	}
	return &reservedPort{socket: socket, number: number}, nil
}

// bindAny binds the socket to a free port of 127.0.0.1 and returns the port.
func bindAny(fd int) (int, error) {
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	addr, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	inet, ok := addr.(*syscall.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("getsockname: an IPv4 socket has the address %T", addr)
	}
	return inet.Port, nil
}

// addr is the port as host:port.
func (p *reservedPort) addr() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.number))
}

// release gives the port back. A server that listens on it goes on doing so.
func (p *reservedPort) release() error { return p.socket.Close() }

// isPortTaken reports whether a server ended as another program has its port.
func isPortTaken(err error) bool {
	var exit *exitError
	return errors.As(err, &exit) &&
		strings.Contains(strings.ToLower(exit.logTail), "address already in use") // Java has a capital
}
