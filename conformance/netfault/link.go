package netfault

import "context"

// link is one client's connection and the one to the server that it is
// forwarded to. It ends when a FIN was passed on in each direction, when a reset
// was passed on in either, or when a fault or Close resets it.
type link struct {
	proxy    *Proxy
	up, down *pipe

	// ctx ends with the link. It is what its goroutines wait on, and bounds
	// the dial.
	ctx    context.Context
	cancel context.CancelFunc

	// Guarded by the hub's lock.
	client  stream
	server  stream // nil until connected
	lossy   bool   // something of its streams was lost: never to be used again
	trapped bool   // the next bytes from the server are to be lost
}

func newLink(p *Proxy, client stream) *link {
	l := &link{proxy: p, client: client}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.up = newPipe(l, Up)
	l.down = newPipe(l, Down)
	l.up.src, l.down.dst = client, client
	return l
}

// connect dials the server and reports whether it is connected. To dial is to
// send, so it waits while Up is stopped. That the server cannot be reached is
// news from the server: it travels down, in order, as a reset.
func (l *link) connect() bool {
	h := l.proxy.hub
	for {
		h.Lock()
		target, f := l.proxy.target, l.proxy.faults
		h.Unlock()
		if !(f.frozen | f.holed).has(Up) {
			return l.dial(target)
		}
		// Every verb pokes after it has changed the faults, so either they were
		// read above as they are, or a poke is pending.
		select {
		case <-l.ctx.Done():
			return false
		case <-l.down.pokeFill:
		}
	}
}

func (l *link) dial(target string) bool {
	server, err := l.proxy.transport.dial(l.ctx, target)
	l.proxy.hub.Lock()
	defer l.proxy.hub.Unlock()
	if err != nil {
		l.down.abort()
		return false
	}
	if l.ctx.Err() != nil {
		reset(server)
		return false
	}
	_ = server.SetLinger(-1) // undo what tcp.dial may have set; fails only on a closed connection
	l.server = server
	l.up.dst, l.down.src = server, server
	poke(l.up.pokePump)
	return true
}

// end closes both connections, by a reset to both peers or else quietly (their
// FINs are sent), and accounts for what was held. The caller holds the lock.
func (l *link) end(byReset bool) {
	if l.ctx.Err() != nil {
		return
	}
	l.cancel()
	for _, conn := range []stream{l.client, l.server} {
		switch {
		case conn == nil:
		case byReset:
			reset(conn)
		default:
			_ = conn.Close() // nothing left to send, nothing to be done about it
		}
	}
	l.up.clear()
	l.down.clear()
	delete(l.proxy.links, l)
	l.proxy.hub.notify()
}

// reset closes conn so that the peer gets a RST rather than a FIN. It does not
// block.
func reset(conn stream) {
	_ = conn.SetLinger(0) // fails only if the connection is down already
	_ = conn.Close()
}
