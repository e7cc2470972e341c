package netfault

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// gated is a store that answers each line, behind a gate for lines that begin with
// "put". A test of it takes place in a bubble.
type gated struct {
	*Gate
	t        *testing.T
	listener net.Listener

	mu    sync.Mutex
	lines []string // in the order in which they came
}

func newGated(t *testing.T) *gated {
	var network Memory
	g := &gated{t: t, listener: network.Listen()}
	g.Gate = NewGate(network.DialContext, func(b []byte) bool { return bytes.HasPrefix(b, []byte("put")) })
	t.Cleanup(func() { must(t, g.listener.Close()) })
	go func() {
		for {
			conn, err := g.listener.Accept()
			if err != nil {
				return
			}
			go g.serve(conn)
		}
	}()
	return g
}

func (g *gated) serve(conn net.Conn) {
	defer conn.Close()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		g.mu.Lock()
		g.lines = append(g.lines, lines.Text())
		g.mu.Unlock()
		if _, err := io.WriteString(conn, "ok\n"); err != nil {
			return
		}
	}
}

// has wants the store to have these lines.
func (g *gated) has(want ...string) {
	g.t.Helper()
	synctest.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Equal(g.lines, want) {
		g.t.Errorf("the store has %q; want %q", g.lines, want)
	}
}

func (g *gated) conn() net.Conn {
	g.t.Helper()
	c, err := g.DialContext(g.t.Context(), "tcp", g.listener.Addr().String())
	must(g.t, err)
	g.t.Cleanup(func() { _ = c.Close() }) // which the test may have closed
	return c
}

// ask sends a line on a connection of its own and waits for the answer.
func (g *gated) ask(line string) {
	g.t.Helper()
	c := g.conn()
	write(g.t, c, line+"\n")
	answer, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || answer != "ok\n" {
		g.t.Errorf("the answer to %q is %q, %v", line, answer, err)
	}
}

func write(t *testing.T, c net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(c, text)
	must(t, err)
}

// readFails wants a Read to fail.
func readFails(t *testing.T, c net.Conn, want error) {
	t.Helper()
	if n, err := c.Read(make([]byte, 8)); n != 0 || !errors.Is(err, want) {
		t.Errorf("a Read returned %d bytes and %v; want %v", n, err, want)
	}
}

func inBubble(t *testing.T, f func(t *testing.T, g *gated)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newGated(t)) })
}

func TestGateIsOvertaken(t *testing.T) {
	inBubble(t, func(t *testing.T, g *gated) {
		g.ask("put 0")
		release := g.Hold()
		g.ask("get") // does not match
		c := g.conn()
		write(t, c, "put 1\n")
		g.ask("put 2")
		g.has("put 0", "get", "put 2")
		release()
		g.has("put 0", "get", "put 2", "put 1")
		readFails(t, c, io.EOF)
	})
}

// The sender gives up in each of the ways that there are, and the request lands later.
func TestGateGivenUp(t *testing.T) {
	for name, giveUp := range map[string]func(t *testing.T, c net.Conn){
		"by a deadline that it has set before": func(t *testing.T, c net.Conn) {
			must(t, c.SetDeadline(time.Now().Add(time.Second)))
			write(t, c, "put 1\n")
			readFails(t, c, os.ErrDeadlineExceeded)
		},
		"by a deadline that it sets later": func(t *testing.T, c net.Conn) {
			write(t, c, "put 1\n")
			must(t, c.SetReadDeadline(time.Now().Add(time.Second)))
			readFails(t, c, os.ErrDeadlineExceeded)
			must(t, c.SetWriteDeadline(time.Now()))
			if _, err := io.WriteString(c, "put 2\n"); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("a Write after the deadline: %v", err)
			}
		},
		"as its ctx ends": func(t *testing.T, c net.Conn) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			context.AfterFunc(ctx, func() { _ = c.Close() })
			write(t, c, "put 1\n")
			readFails(t, c, net.ErrClosed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, g *gated) {
				release := g.Hold()
				start := time.Now()
				giveUp(t, g.conn())
				if took := time.Since(start); took != time.Second {
					t.Errorf("giving up took %v; want 1s", took)
				}
				time.Sleep(time.Hour)
				g.ask("put 2")
				release()
				g.has("put 2", "put 1")
			})
		})
	}
}

// A client that reads on another goroutine does not see the answer of a held request.
func TestGateReadUnderWay(t *testing.T) {
	inBubble(t, func(t *testing.T, g *gated) {
		c := g.conn()
		read := make(chan error)
		go func() {
			_, err := c.Read(make([]byte, 8))
			read <- err
		}()
		synctest.Wait()
		release := g.Hold()
		write(t, c, "put 1\n")
		release()
		g.has("put 1")
		if err := <-read; !errors.Is(err, io.EOF) {
			t.Errorf("the Read under way ended with %v; want EOF", err)
		}
	})
}

// A request that is written in pieces lands whole.
func TestGateRequestInPieces(t *testing.T) {
	inBubble(t, func(t *testing.T, g *gated) {
		release := g.Hold()
		c := g.conn()
		for _, piece := range []string{"put", " 1", "\n"} {
			write(t, c, piece)
		}
		g.has()
		release()
		g.has("put 1")
	})
}

func TestGateNothingHeld(t *testing.T) {
	inBubble(t, func(t *testing.T, g *gated) {
		g.Hold()()
		g.ask("put 1")
		g.has("put 1")
	})
}

// The store's end of the connection is gone before the request is released.
func TestGateConnectionLost(t *testing.T) {
	inBubble(t, func(t *testing.T, g *gated) {
		release := g.Hold()
		c := g.conn().(*gatedConn)
		write(t, c, "put 1\n")
		must(t, c.Conn.Close())
		release()
		g.has()
	})
}

func TestGateDialFails(t *testing.T) {
	broken := errors.New("no network")
	g := NewGate(func(context.Context, string, string) (net.Conn, error) { return nil, broken }, nil)
	if _, err := g.DialContext(t.Context(), "tcp", "nowhere"); !errors.Is(err, broken) {
		t.Errorf("DialContext: %v; want %v", err, broken)
	}
}
