package testserver

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

func TestReservedPortServesItsServerAgainAndAgain(t *testing.T) {
	port, err := reservePort()
	must(t, err)
	defer func() { must(t, port.release()) }()
	for range 3 {
		if _, err := net.Dial("tcp", port.addr()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("dial without a server: %v, want %v", err, syscall.ECONNREFUSED)
		}
		server, err := net.Listen("tcp", port.addr())
		must(t, err)
		client, err := net.Dial("tcp", port.addr())
		must(t, err)
		accepted, err := server.Accept()
		must(t, err)
		// The server's side closes first, as when it is killed.
		must(t, accepted.Close())
		must(t, client.Close())
		must(t, server.Close())
	}
}

func TestReservedPortIsRefusedToOthers(t *testing.T) {
	port, err := reservePort()
	must(t, err)
	defer func() { must(t, port.release()) }()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	must(t, err)
	defer syscall.Close(fd)
	err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: port.number, Addr: [4]byte{127, 0, 0, 1}})
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Fatalf("bind: %v, want %v", err, syscall.EADDRINUSE)
	}
}

func TestReservedPortIsFreeAfterRelease(t *testing.T) {
	port, err := reservePort()
	must(t, err)
	must(t, port.release())
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	must(t, err)
	defer syscall.Close(fd)
	must(t, syscall.Bind(fd, &syscall.SockaddrInet4{Port: port.number, Addr: [4]byte{127, 0, 0, 1}}))
}
