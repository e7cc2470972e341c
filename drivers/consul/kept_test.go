package consul

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// keyAnswer is an answer to a read that has found a key.
func keyAnswer(key string) string {
	kv := fmt.Sprintf(`[{"LockIndex":0,"Key":%q,"Flags":0,"Value":null,"CreateIndex":5,"ModifyIndex":6}]`, key)
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Consul-Index: 7\r\nContent-Length: %d\r\n\r\n%s", len(kv), kv)
}

// A connection is not used for another request, and what is in it not taken for the
// answer to that, unless it is certain to be as it was before.
func TestDirectConnectionIsNotUsedAgain(t *testing.T) {
	usual := keyAnswer("k")
	for what, tt := range map[string]struct {
		answer string
		kept   bool
	}{
		"as usual":            {usual, true},
		"a second answer":     {usual + keyAnswer("stray"), false},
		"the last":            {strings.Replace(usual, "X-", "Connection: close\r\nX-", 1), false},
		"of an old protocol":  {strings.Replace(usual, "HTTP/1.1", "HTTP/1.0", 1), false},
		"announced, and more": {"HTTP/1.1 103 Early Hints\r\n\r\n" + usual + keyAnswer("stray"), false},
	} {
		h := startHost(t, func(n int, conn net.Conn) {
			in := bufio.NewReader(conn)
			for i := 0; ; i++ {
				if _, err := http.ReadRequest(in); err != nil {
					return
				}
				answer := keyAnswer("again")
				if n == 1 && i == 0 {
					answer = tt.answer
				}
				_, _ = io.WriteString(conn, answer) // the test shows what is wrong
			}
		})
		directly, _ := waysOf(openOn(t, defaultTiming, h.Addr().String()))
		kv, _, err := directly.Get("k", consistently(within(t)))
		if err != nil || kv.Key != "k" {
			t.Errorf("%s: %+v, %v", what, kv, err)
		}
		kv, _, err = directly.Get("k", consistently(within(t)))
		if err != nil || kv.Key != "again" {
			t.Errorf("%s, the next: %+v, %v", what, kv, err)
		}
		if n := h.accepted.Load(); (n == 1) != tt.kept {
			t.Errorf("%s: %d connections", what, n)
		}
	}
}

// ending is a connection that ends a ctx with whatever is read, and is not closed when it
// is said to be.
type ending struct {
	*net.TCPConn
	end func()
}

func (ending) Close() error { return nil }

func (c ending) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	c.end()
	return n, err
}

// A connection that is about to be closed, because a ctx has ended as the answer came, is
// not used for another request.
func TestDirectConnectionThatIsBeingClosed(t *testing.T) {
	h := startHost(t, answers(keyAnswer("k")))
	directly, _ := waysOf(openOn(t, defaultTiming, h.Addr().String()))
	get := func(ctx context.Context) {
		t.Helper()
		kv, _, err := directly.Get("k", consistently(ctx))
		if err != nil || kv.Key != "k" {
			t.Errorf("%+v, %v", kv, err)
		}
	}
	get(within(t))
	ctx, cancel := context.WithCancel(within(t))
	free := directly.(*direct).pool().free
	c, ok := free.Take()
	if !ok {
		t.Fatal("no connection is idle")
	}
	conn := c.tcp.Conn.(*net.TCPConn)
	c.tcp.Conn = ending{conn, cancel}
	free.Put(c)
	get(ctx)
	get(within(t))
	must(t, conn.Close())
	if n := h.accepted.Load(); n != 2 {
		t.Errorf("%d connections", n)
	}
}

// A page that somebody in between has made is not waited for to its end.
func TestPageWithoutEnd(t *testing.T) {
	for _, head := range []string{"Content-Length: 1000", "Transfer-Encoding: chunked"} {
		h := startHost(t, func(_ int, conn net.Conn) {
			in := bufio.NewReader(conn)
			if _, err := http.ReadRequest(in); err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"+head+"\r\n\r\n<html>") // the test shows what is wrong
			}
			_, _ = in.ReadByte() // until the other side has gone
		})
		directly, _ := waysOf(openOn(t, defaultTiming, h.Addr().String()))
		_, _, err := directly.Get("k", consistently(within(t)))
		wantIs(t, err, errNoAgent)
	}
}
