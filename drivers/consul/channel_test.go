package consul

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

// An agent that has heard enough may answer and close the connection before it has all
// of a request. That answer counts, and not that the rest could not be written.
func TestAnswerBeforeTheEndOfTheRequest(t *testing.T) {
	h := startHost(t, func(_ int, conn net.Conn) {
		_, err := conn.Read(make([]byte, 1))
		if err == nil {
			_, err = io.WriteString(conn, strings.Replace(answerTrue, "200 OK", "429 Too Many Requests", 1))
		}
		if err != nil {
			t.Error(err)
		}
	})
	wire := startTransport(t)
	req, err := http.NewRequestWithContext(within(t), http.MethodPut, h.url(), bytes.NewReader(make([]byte, 16<<20)))
	must(t, err)
	resp, err := wire.RoundTrip(req)
	must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("got status %d", resp.StatusCode)
	}
}

// A request ends with its ctx, before the answer has begun and in the midst of it.
func TestRequestEndsWithItsContext(t *testing.T) {
	for _, begin := range []string{"", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\ntr"} {
		asked := make(chan struct{})
		h := startHost(t, func(_ int, conn net.Conn) {
			in := bufio.NewReader(conn)
			if _, err := http.ReadRequest(in); err != nil {
				t.Error(err)
			}
			if _, err := io.WriteString(conn, begin); err != nil {
				t.Error(err)
			}
			close(asked)
			_, _ = in.ReadByte() // until the other side has gone
		})
		wire := startTransport(t)
		ctx, cancel := context.WithCancel(within(t))
		result := make(chan error, 1)
		go func() {
			_, err := send(ctx, wire, http.MethodGet, h.url(), "")
			result <- err
		}()
		<-asked
		cancel()
		wantIs(t, receive(t, "the request", result), context.Canceled)
		eventually(t, "it is closed", func() bool { return h.connected() == 0 })
	}
}

// headerWithoutEnd serves what no agent sends.
func headerWithoutEnd(_ int, conn net.Conn) {
	line := fmt.Sprintf("X-Y: %s\r\n", strings.Repeat("z", 1<<10))
	_, err := http.ReadRequest(bufio.NewReader(conn))
	if err == nil {
		_, err = io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
	}
	for err == nil {
		_, err = io.WriteString(conn, line)
	}
}

// A header without an end is not read to the end of the memory.
func TestHeaderWithoutEnd(t *testing.T) {
	h := startHost(t, headerWithoutEnd)
	wire := startTransport(t)
	_, err := send(within(t), wire, http.MethodPut, h.url(), "")
	wantIs(t, err, errNoAgent)
}

var errReading = errors.New("nothing to be read")

// A request that cannot be written is no reason to wait for an answer.
func TestRequestThatCannotBeWritten(t *testing.T) {
	h := startHost(t, answers(answerTrue))
	wire := startTransport(t)
	req, err := http.NewRequestWithContext(within(t), http.MethodPut, h.url(), iotest.ErrReader(errReading))
	must(t, err)
	_, err = wire.RoundTrip(req)
	if err == nil || !strings.Contains(err.Error(), errReading.Error()) {
		t.Errorf("got the error %v; want %v", err, errReading)
	}
}
