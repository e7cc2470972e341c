package netfault

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// Memory is a network inside the process, for tests in virtual time: a
// goroutine that waits for one of its connections, or for a proxy before it, is
// durably blocked in the sense of package testing/synctest. A client that lets
// its caller set a dialer reaches a server in the same process through it, and
// NewProxy and NewGroup put the faults of this package in between.
//
// Its connections behave like TCP's over a loopback interface: writes are
// buffered, up to 64 KiB; a half-closed connection stays usable the other way;
// a reset is a syscall.ECONNRESET; connecting where nobody listens fails with
// syscall.ECONNREFUSED; deadlines work.
//
// The zero value is ready to use. All methods are safe for concurrent use. In
// virtual time a Memory and all that uses it belong into one bubble.
type Memory struct {
	mu        sync.Mutex
	listeners map[string]*memoryListener // by address
	last      int                        // the last port that was given
}

// memoryAddr is an address of a Memory, as "memory:7".
type memoryAddr string

func (memoryAddr) Network() string  { return "memory" }
func (a memoryAddr) String() string { return string(a) }

// Listen listens on an address that nobody else has, or had before.
func (m *Memory) Listen() net.Listener {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.listenOn(m.newAddr())
}

// DialContext connects to a listener. It does not wait for Accept. ctx and
// network are there for the type of net.Dialer.DialContext: dialing takes no
// time, and it fails if ctx has ended.
func (m *Memory) DialContext(ctx context.Context, _, addr string) (net.Conn, error) {
	conn, err := m.dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// NewProxy is New for a target on this network.
func (m *Memory) NewProxy(target string) (*Proxy, error) { return start(new(hub), m, target) }

// NewGroup is the function NewGroup for targets on this network.
func (m *Memory) NewGroup(targets ...string) (*Group, error) { return newGroup(m, targets) }

// newAddr and listenOn are called with the lock held.
func (m *Memory) newAddr() memoryAddr {
	m.last++
	return memoryAddr(fmt.Sprintf("memory:%d", m.last))
}

func (m *Memory) listenOn(addr memoryAddr) net.Listener {
	if m.listeners == nil {
		m.listeners = make(map[string]*memoryListener)
	}
	l := &memoryListener{network: m, addr: addr, changed: sync.NewCond(&m.mu)}
	m.listeners[addr.String()] = l
	return l
}

func (m *Memory) dial(ctx context.Context, addr string) (stream, error) {
	failed := func(err error) (stream, error) {
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: memoryAddr(addr), Err: err}
	}
	if err := ctx.Err(); err != nil {
		return failed(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.listeners[addr]
	if l == nil {
		return failed(os.NewSyscallError("connect", syscall.ECONNREFUSED))
	}
	client, server := newMemoryConns(m.newAddr(), l.addr)
	l.waiting = append(l.waiting, server)
	l.changed.Signal()
	return client, nil
}

// listen implements transport. An address is never given twice, so nothing has
// to keep it.
func (m *Memory) listen() (net.Listener, io.Closer, error) {
	return m.Listen(), io.NopCloser(nil), nil
}

func (m *Memory) listenAgain(addr net.Addr) (net.Listener, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.listenOn(addr.(memoryAddr)), nil
}

// memoryListener is a listener on an address of a Memory.
type memoryListener struct {
	network *Memory
	addr    memoryAddr
	changed *sync.Cond // on the network's lock, which guards what follows
	waiting []*memoryConn
	closed  bool
}

func (l *memoryListener) Addr() net.Addr { return l.addr }

func (l *memoryListener) Accept() (net.Conn, error) {
	l.network.mu.Lock()
	defer l.network.mu.Unlock()
	for len(l.waiting) == 0 && !l.closed {
		l.changed.Wait()
	}
	if l.closed {
		return nil, l.failed("accept")
	}
	conn := l.waiting[0]
	l.waiting = l.waiting[1:]
	return conn, nil
}

// Close refuses further connections and resets those that were not accepted.
func (l *memoryListener) Close() error {
	l.network.mu.Lock()
	defer l.network.mu.Unlock()
	if l.closed {
		return l.failed("close")
	}
	l.closed = true
	delete(l.network.listeners, l.addr.String())
	for _, conn := range l.waiting {
		reset(conn)
	}
	l.waiting = nil
	l.changed.Broadcast()
	return nil
}

func (l *memoryListener) failed(op string) error {
	return &net.OpError{Op: op, Net: "memory", Addr: l.addr, Err: net.ErrClosed}
}
