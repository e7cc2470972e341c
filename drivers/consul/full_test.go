package consul

import (
	"bytes"
	"io"
	"log"
	"net"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// An agent that has too many connections answers before it is asked. That is no
// word to the program's log, and nothing that may have had an effect.
func TestAgentSpeaksFirst(t *testing.T) {
	var said bytes.Buffer
	before := log.Writer()
	log.SetOutput(&said)
	defer log.SetOutput(before)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nYour IP is issuing too many concurrent connections, please rate limit your calls\n")
			_ = conn.Close() // the client may be first
		}
	}()
	c, err := open(within(t), driver.Target{Hosts: []string{l.Addr().String()}, Namespace: "x"})
	must(t, err)
	for range 50 {
		_, err := c.OpenSession(within(t), time.Minute)
		wantIs(t, err, driver.ErrUnavailable)
	}
	must(t, c.Close())
	must(t, l.Close())
	<-done
	if said.Len() > 0 {
		t.Errorf("the program's log got %q", said.String())
	}
}

// A tenant that only the environment names is that of transactions as well.
func TestTenantOfTheEnvironment(t *testing.T) {
	t.Setenv("CONSUL_NAMESPACE", "team-a")
	t.Setenv("CONSUL_PARTITION", "part-b")
	c, err := openWith(within(t), driver.Target{Hosts: []string{"127.0.0.1:1"}, Namespace: "x"}, defaultTiming)
	must(t, err)
	defer c.Close()
	if want := (tenant{"team-a", "part-b"}); c.tenant != want {
		t.Errorf("transactions are for %+v; want %+v", c.tenant, want)
	}
}

func TestTokenOfSeveralLines(t *testing.T) {
	_, err := open(within(t), driver.Target{Hosts: []string{"127.0.0.1:1"}, Namespace: "x", Token: "one\ntwo"})
	wantIs(t, err, driver.ErrInvalid)
	t.Setenv("CONSUL_HTTP_TOKEN", "one\ntwo")
	_, err = open(within(t), driver.Target{Hosts: []string{"127.0.0.1:1"}, Namespace: "x"})
	wantIs(t, err, driver.ErrInvalid)
}
