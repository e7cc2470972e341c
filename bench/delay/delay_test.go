package delay_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/coordkit/coordkit/bench/delay"
	"github.com/coordkit/coordkit/bench/stats"
)

func TestMain(m *testing.M) {
	if delay.Main() {
		return
	}
	os.Exit(m.Run())
}

func Example() {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	const rtt = 20 * time.Millisecond
	proxies, err := delay.Start(context.Background(), rtt, []string{server.Addr().String()})
	if err != nil {
		fmt.Println(err)
		return
	}
	began := time.Now()
	client, err := net.Dial("tcp", proxies.Addrs[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Fprint(client, "a request")
	conn, err := server.Accept()
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	fmt.Println(err, time.Since(began) >= rtt+rtt/2) // to connect takes a round trip as well
	fmt.Println(proxies.Close())
	// Output:
	// <nil> true
	// <nil>
}

// echo is a server that sends back what it gets, and ends when the client does.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

// dial connects to an echo by a proxy.
func dial(t *testing.T, rtt time.Duration) *net.TCPConn {
	t.Helper()
	p, err := delay.Listen(echo(t), rtt)
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	c, err := net.Dial("tcp", p.Addr())
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c.(*net.TCPConn)
}

// roundTrip returns how long an echo took.
func roundTrip(t *testing.T, c net.Conn) time.Duration {
	t.Helper()
	began := time.Now()
	_, err := c.Write([]byte{1})
	must(t, err)
	_, err = io.ReadFull(c, make([]byte, 1))
	must(t, err)
	return time.Since(began)
}

func TestRoundTrip(t *testing.T) {
	const rtt = 4 * time.Millisecond
	began := time.Now()
	c := dial(t, rtt)
	roundTrip(t, c)
	if took := time.Since(began); took < 2*rtt {
		t.Errorf("the first took %v, want a round trip to connect and one for the echo: %v", took, 2*rtt)
	}
	for range 20 {
		if took := roundTrip(t, c); took < rtt {
			t.Errorf("an echo took %v, want %v or more", took, rtt)
		}
	}
}

// All that is sent at once is under way at once.
func TestDelayIsNoRate(t *testing.T) {
	const rtt, chunks = 200 * time.Millisecond, 100
	const size = chunks * 64 << 10 // a read returns no more
	c := dial(t, rtt)
	roundTrip(t, c)
	began := time.Now()
	go func() { _, _ = c.Write(make([]byte, size)) }()
	_, err := io.ReadFull(c, make([]byte, size))
	must(t, err)
	if took, inTurn := time.Since(began), chunks*rtt/2; took < rtt || took > inTurn {
		t.Errorf("they took %v, want more than %v and less than one after the other, %v", took, rtt, inTurn)
	}
}

// What is sent arrives, in order, and so does the end of the stream.
func TestStream(t *testing.T) {
	c := dial(t, time.Millisecond)
	sent := make([]byte, 4<<20)
	rand.Read(sent)
	go func() {
		_, _ = c.Write(sent)
		_ = c.CloseWrite()
	}()
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes came back, %v; want the %d that were sent", len(got), err, len(sent))
	}
}

// A receiver that does not read does not keep the proxy from closing.
func TestClose(t *testing.T) {
	p, err := delay.Listen(echo(t), time.Millisecond)
	must(t, err)
	c, err := net.Dial("tcp", p.Addr())
	must(t, err)
	defer c.Close()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = io.Copy(c, rand.Reader) // until the connection is closed
	}()
	must(t, p.Close())
	<-written
	if _, err := net.Dial("tcp", p.Addr()); err == nil {
		t.Error("the proxy accepts though it is closed")
	}
}

func TestNoServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, l.Close())
	p, err := delay.Listen(l.Addr().String(), time.Millisecond)
	must(t, err)
	defer p.Close()
	c, err := net.Dial("tcp", p.Addr())
	must(t, err)
	defer c.Close()
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes came from no server", n)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if proxies, err := delay.Start(ctx, time.Millisecond, []string{"127.0.0.1:1"}); err == nil {
		t.Errorf("it listens at %v", proxies.Addrs)
		_ = proxies.Close()
	}
}

func TestEcho(t *testing.T) {
	took, err := delay.Echo(t.Context(), time.Millisecond)
	if err != nil || len(took) == 0 || slices.Min(took) < time.Millisecond {
		t.Errorf("the shortest of %d echoes is too short: %v", len(took), err)
	}
	t.Logf("an echo took %v, and one in a hundred %v", stats.Quantile(took, 0.5), stats.Quantile(took, 0.99))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
