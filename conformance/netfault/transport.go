package netfault

import (
	"context"
	"io"
	"net"
)

// stream is a connection as a proxy needs it: a *net.TCPConn, or one of a
// Memory.
type stream interface {
	net.Conn
	// CloseWrite ends the stream towards the peer, as a FIN does.
	CloseWrite() error
	// SetLinger(0) makes Close reset the connection.
	SetLinger(sec int) error
}

// transport is where a proxy listens and dials.
type transport interface {
	// listen listens on a free address. The Closer keeps the address while
	// nobody listens there; it is nil where that is impossible.
	listen() (net.Listener, io.Closer, error)
	// listenAgain listens on an address that listen has given before.
	listenAgain(addr net.Addr) (net.Listener, error)
	// dial connects to target; ctx bounds the dialing only.
	dial(ctx context.Context, target string) (stream, error)
}

// tcp is the transport of New and NewGroup.
type tcp struct{}

func (tcp) listen() (net.Listener, io.Closer, error) { return listen() }

func (tcp) listenAgain(addr net.Addr) (net.Listener, error) {
	return net.ListenTCP("tcp4", addr.(*net.TCPAddr))
}

func (tcp) dial(ctx context.Context, target string) (stream, error) {
	conn, err := newDialer().DialContext(ctx, "tcp", target)
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}
