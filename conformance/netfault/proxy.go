package netfault

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Proxy forwards TCP connections from a loopback port of its own to a target,
// with the faults that its Control switches on.
type Proxy struct {
	*Control
	transport transport
	addr      net.Addr
	running   sync.WaitGroup // every goroutine of the proxy; added to under the lock while not closed

	// Guarded by the hub's lock.
	target   string
	listener net.Listener // nil while refusing
	port     io.Closer    // keeps the port while refusing; nil where that is impossible
	links    map[*link]struct{}
	faults   faults
	accepted int
	flows    [2]Flow // by Direction.index
	closed   bool
}

// New listens on a free port of 127.0.0.1 and forwards every connection to
// target, a "host:port" that is dialed anew for each connection; nothing need
// listen there yet. While it cannot be reached, connections are accepted and
// then reset. The caller must Close the proxy.
func New(target string) (*Proxy, error) {
	return start(new(hub), tcp{}, target)
}

func start(h *hub, network transport, target string) (*Proxy, error) {
	if err := checkTarget(target); err != nil {
		return nil, err
	}
	listener, port, err := network.listen()
	if err != nil {
		return nil, fmt.Errorf("netfault: listening on a free port: %w", err)
	}
	p := &Proxy{
		transport: network,
		addr:      listener.Addr(),
		target:    target,
		listener:  listener,
		port:      port,
		links:     make(map[*link]struct{}),
	}
	p.Control = &Control{hub: h, proxies: []*Proxy{p}}
	p.running.Go(func() { p.accept(listener) })
	return p, nil
}

func checkTarget(target string) error {
	if _, _, err := net.SplitHostPort(target); err != nil {
		return fmt.Errorf("netfault: target %q is not host:port: %w", target, err)
	}
	return nil
}

// Addr returns the "host:port" that clients are to connect to. It never
// changes.
func (p *Proxy) Addr() string { return p.addr.String() }

// SetTarget makes new connections go to target, for a server that was replaced
// or restarted on another port. Live connections stay with the old one; end
// them with DropConnections. A target that is not "host:port" is an error and
// changes nothing.
func (p *Proxy) SetTarget(target string) error {
	if err := checkTarget(target); err != nil {
		return err
	}
	p.hub.Lock()
	defer p.hub.Unlock()
	p.target = target
	return nil
}

// acceptPause is how long to leave the operating system alone after it failed
// to accept, which it does while out of descriptors: long enough not to spin,
// short enough not to be noticed.
const acceptPause = 5 * time.Millisecond

// accept admits connections until the listener is closed.
func (p *Proxy) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		switch {
		case err == nil:
			p.admit(listener, client.(stream))
		case errors.Is(err, net.ErrClosed):
			return
		default:
			time.Sleep(acceptPause)
		}
	}
}

// admit starts to forward a connection. One that was accepted just before its
// listener was closed came before the Cut and has to go with the others, even
// if Heal has already been called.
func (p *Proxy) admit(listener net.Listener, client stream) {
	p.hub.Lock()
	defer p.hub.Unlock()
	if p.closed || p.faults.cut || p.listener != listener {
		reset(client)
		return
	}
	p.accepted++
	if p.faults.reject {
		reset(client)
		p.hub.notify()
		return
	}
	l := newLink(p, client)
	p.links[l] = struct{}{}
	p.running.Go(l.up.fill)
	p.running.Go(l.up.pump)
	p.running.Go(l.down.pump)
	p.running.Go(func() {
		if l.connect() {
			l.down.fill()
		}
	})
	p.hub.notify()
}

// refuse stops listening if the port can be kept. The caller holds the lock, as
// for all that follows.
func (p *Proxy) refuse() {
	if p.listener != nil && p.port != nil {
		_ = p.listener.Close() // of no consequence: the descriptor is gone either way
		p.listener = nil
	}
}

// listenAgain undoes refuse.
func (p *Proxy) listenAgain() error {
	if p.listener != nil {
		return nil
	}
	listener, err := p.transport.listenAgain(p.addr)
	if err != nil {
		return err
	}
	p.listener = listener
	p.running.Go(func() { p.accept(listener) })
	return nil
}

func (p *Proxy) resetAll() {
	for l := range p.links {
		l.end(true)
	}
}

func (p *Proxy) shut() error {
	p.closed = true
	p.resetAll()
	var errs []error
	if p.listener != nil {
		errs = append(errs, p.listener.Close())
	}
	if p.port != nil {
		errs = append(errs, p.port.Close())
	}
	return errors.Join(errs...)
}
