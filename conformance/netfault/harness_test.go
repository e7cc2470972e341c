package netfault

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// network is where the tests take place: TCP, or a Memory.
var network transport = tcp{}

func init() {
	if os.Getenv(inMemory) != "" {
		network = new(Memory)
	}
}

// newOn is New, on the tests' network.
func newOn(target string) (*Proxy, error) { return start(new(hub), network, target) }

// dialOn connects to addr, on the tests' network.
func dialOn(addr string) (net.Conn, error) {
	conn, err := network.dial(context.Background(), addr)
	if err != nil {
		return nil, err
	}
	return conn, conn.SetLinger(-1) // closing ends the stream in order
}

// patience is how long a test waits for what must happen before it reports a
// hang. No test takes it to mean anything else.
const patience = 20 * time.Second

func patient(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// backend is a server whose connections the test plays itself.
type backend struct {
	net.Listener
	conns chan stream
}

func newBackend(t testing.TB) *backend {
	t.Helper()
	listener, port, err := network.listen()
	if err != nil {
		t.Fatal(err)
	}
	if port != nil {
		_ = port.Close() // of no use: the listener is not closed and opened again
	}
	b := &backend{Listener: listener, conns: make(chan stream, 1024)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := b.Accept()
			if err != nil {
				return
			}
			b.conns <- conn.(stream)
		}
	}()
	t.Cleanup(func() {
		_ = b.Close()
		<-done
		close(b.conns)
		for conn := range b.conns {
			_ = conn.Close()
		}
	})
	return b
}

func (b *backend) addr() string { return b.Addr().String() }

// accepted returns the next connection that reached the server.
func (b *backend) accepted(t testing.TB) stream {
	t.Helper()
	select {
	case conn := <-b.conns:
		return guarded(t, conn)
	case <-patient(t).Done():
		t.Fatal("no connection reached the server")
		return nil
	}
}

// guarded makes I/O on conn fail rather than hang, and closes it after the test.
func guarded(t testing.TB, conn net.Conn) stream {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn.(stream)
}

func newProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	p, err := newOn(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeAll(t, p.Control) })
	return p
}

// closeAll closes c and holds it to what it must leave behind.
func closeAll(t testing.TB, c *Control) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	s := c.Stats()
	if s.Conns != 0 || s.Open != 0 || s.Up.Held != 0 || s.Down.Held != 0 {
		t.Errorf("Close left something behind: %+v", s)
	}
	checkSums(t, s)
}

// wantNoneLeft wants the goroutines to end that are not in before. It has the
// patience that goleak lacks where the machine is busy.
func wantNoneLeft(t testing.TB, before goleak.Option) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if err = goleak.Find(before); err == nil {
			return
		}
	}
	t.Error(err)
}

// checkSums holds the counters to what their documentation says of them.
func checkSums(t testing.TB, s Stats) {
	t.Helper()
	for _, f := range []Flow{s.Up, s.Down} {
		if f.Received != f.Forwarded+f.Dropped+f.Held || min(f.Received, f.Forwarded, f.Dropped, f.Held) < 0 {
			t.Errorf("counters do not add up: %+v", f)
		}
	}
}

func dial(t testing.TB, addr string) stream {
	t.Helper()
	conn, err := dialOn(addr)
	if err != nil {
		t.Fatal(err)
	}
	return guarded(t, conn)
}

// rig is a proxy before a backend.
type rig struct {
	*Proxy
	server *backend
}

func newRig(t testing.TB) rig {
	t.Helper()
	b := newBackend(t)
	return rig{Proxy: newProxy(t, b.addr()), server: b}
}

// pair connects through the proxy and returns both outer ends.
func (r rig) pair(t testing.TB) (client, server stream) {
	t.Helper()
	client = dial(t, r.Addr())
	return client, r.server.accepted(t)
}

// ends returns who sends in direction d and who receives.
func ends(d Direction, client, server stream) (from, to stream) {
	if d == Up {
		return client, server
	}
	return server, client
}

func flow(s Stats, d Direction) Flow {
	if d == Up {
		return s.Up
	}
	return s.Down
}

var directions = []Direction{Up, Down}

func send(t testing.TB, conn net.Conn, msg string) {
	t.Helper()
	if _, err := io.WriteString(conn, msg); err != nil {
		t.Fatalf("sending %q: %v", msg, err)
	}
}

func receive(t testing.TB, conn net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Fatalf("received %q, %v; want %q", got[:n], err, want)
	}
}

// receiveEOF wants an orderly end and nothing before it.
func receiveEOF(t testing.TB, conn net.Conn) {
	t.Helper()
	if rest, err := io.ReadAll(conn); err != nil || len(rest) != 0 {
		t.Fatalf("received %q, %v; want an orderly end of the stream", rest, err)
	}
}

// receiveReset wants a reset and nothing before it.
func receiveReset(t testing.TB, conn net.Conn) {
	t.Helper()
	if rest, err := io.ReadAll(conn); !errors.Is(err, syscall.ECONNRESET) || len(rest) != 0 {
		t.Fatalf("received %q, %v; want a reset", rest, err)
	}
}

// resetAtOnce wants a connection to addr to be accepted and then reset, which a
// client may be told by connect already.
func resetAtOnce(t testing.TB, addr string) {
	t.Helper()
	conn, err := dialOn(addr)
	switch {
	case err == nil:
		receiveReset(t, guarded(t, conn))
	case !errors.Is(err, syscall.ECONNRESET):
		t.Fatalf("connecting: %v; want a reset", err)
	}
}

// works shows that a connection carries bytes both ways.
func works(t testing.TB, client, server net.Conn) {
	t.Helper()
	send(t, client, "ping")
	receive(t, server, "ping")
	send(t, server, "pong")
	receive(t, client, "pong")
}

func heal(t testing.TB, c *Control) {
	t.Helper()
	if err := c.Heal(); err != nil {
		t.Fatal(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// echoAll sends everything back until conn ends.
func echoAll(conn stream) {
	_, _ = io.Copy(conn, conn)
	_ = conn.Close()
}

// tryEcho connects to an echo server and talks to it until all is said or the
// connection fails. What comes back has to be the beginning of what was sent.
func tryEcho(t testing.TB, addr string) {
	conn, err := dialOn(addr)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	const said = "what is said must come back as it was, up to where it ends"
	for i := range len(said) {
		if _, err := conn.Write([]byte{said[i]}); err != nil {
			return
		}
		var got [1]byte
		if _, err := conn.Read(got[:]); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("a connection hung after all faults were healed")
			}
			return
		}
		if got[0] != said[i] {
			t.Errorf("received %q at %d, want %q", got[0], i, said[i])
			return
		}
	}
}
