package consul

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/consul/api"
)

const usualHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nVary: Accept-Encoding\r\nX-Consul-Default-Acl-Policy: deny\r\n" +
	"X-Consul-Index: 8\r\nX-Consul-Knownleader: true\r\nX-Consul-Lastcontact: 0\r\nX-Consul-Query-Backend: blocking-query\r\n" +
	"X-Consul-Results-Filtered-By-Acls: true\r\nDate: Tue, 24 Nov 2026 18:43:20 GMT\r\nContent-Length: 135"

// What is taken for a plain header package http reads alike.
func TestHeadAgreesWithPackageHTTP(t *testing.T) {
	seeds := []string{
		usualHead,
		"HTTP/1.1 404 Not Found\r\nX-Consul-Index: 12\r\nContent-Length: 0",
		"HTTP/1.1 200 OK\r\ncontent-length:5\r\ncontent-type:application/json\r\nx-consul-index:18446744073709551615\r\nserver: envoy",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\nContent-Length: 1\r\nContent-Length: 2",
	}
	if _, _, ok := readHead(usualHead); !ok {
		t.Error("the usual header is left to package http")
	}
	random := rand.New(rand.NewPCG(5, 6))
	accepted := 0
	for range 50_000 {
		head := string(mutated(random, seeds))
		a, length, ok := readHead(head)
		if !ok {
			continue
		}
		accepted++
		resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(head+"\r\n\r\n")), nil)
		if err != nil {
			t.Fatalf("%q: %v", head, err)
		}
		want := newSaid(resp.StatusCode, headerOf(resp))
		if resp.ContentLength != length || resp.Close || a.status != want.status || a.json != want.json || !reflect.DeepEqual(a.meta, want.meta) {
			t.Fatalf("%q is read as %+v, length %d; want %+v, %d", head, a, length, want, resp.ContentLength)
		}
	}
	if accepted < 1000 {
		t.Errorf("only %d were read", accepted)
	}
	// An index that does not fit is none.
	if a, _, ok := readHead(strings.Replace(usualHead, ": 8", ": 99999999999999999999", 1)); !ok || a.meta.LastIndex != 0 {
		t.Errorf("%+v, %v", a, ok)
	}
}

// Answers that are odd, of which each is what package api makes of it.
func TestOddAnswers(t *testing.T) {
	const kv = `[{"Key":"k","CreateIndex":5,"ModifyIndex":6,"Session":"","Value":null,"Flags":0,"LockIndex":0}]`
	ok := func(head, body string) string {
		return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Consul-Index: 7\r\nX-Consul-Lastcontact: 0\r\n" + head + "\r\n" + body
	}
	sized := func(body string) string { return ok(fmt.Sprintf("Content-Length: %d\r\n", len(body)), body) }
	refusal := func(status, body string) string {
		return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
	}
	for what, tt := range map[string]struct {
		answer string
		key    string // of what is found
		status int    // of the error; 0: another
		fine   bool

		lenient bool // package api does not ask for what is missing
	}{
		"as usual":              {sized(kv), "k", 0, true, false},
		"in chunks":             {ok("Transfer-Encoding: chunked\r\n", fmt.Sprintf("%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", 5, kv[:5], len(kv)-5, kv[5:])), "k", 0, true, false},
		"until the end":         {ok("", kv), "k", 0, true, false},
		"the last":              {ok(fmt.Sprintf("Connection: close\r\nContent-Length: %d\r\n", len(kv)), kv), "k", 0, true, false},
		"announced":             {"HTTP/1.1 103 Early Hints\r\n\r\n" + sized(kv), "k", 0, true, false},
		"more than that":        {sized(kv) + "and more", "k", 0, true, false},
		"a long header":         {ok("X-Y: "+strings.Repeat("z", 10_000)+"\r\n"+fmt.Sprintf("Content-Length: %d\r\n", len(kv)), kv), "k", 0, true, false},
		"many words":            {sized(kv[:len(kv)-1] + strings.Repeat(" ", 5<<18) + "]"), "k", 0, true, false},
		"of an old protocol":    {strings.Replace(sized(kv), "HTTP/1.1", "HTTP/1.0", 1), "k", 0, true, false},
		"nothing there":         {"HTTP/1.1 404 Not Found\r\nX-Consul-Index: 7\r\nContent-Length: 0\r\n\r\n", "", 0, true, false},
		"nothing there, cut":    {"HTTP/1.1 404 Not Found\r\nX-Consul-Index: 7\r\nContent-Length: 9\r\n\r\n", "", 0, true, false},
		"nobody there":          {refusal("404 Not Found", "no such page"), "", 0, false, false},
		"a page":                {strings.Replace(sized("<html>"), "application/json", "text/html", 1), "", 0, false, false},
		"of no kind":            {strings.Replace(sized(kv), "Content-Type", "X-Type", 1), "", 0, false, false},
		"no JSON":               {sized("what is this"), "", 0, false, false},
		"nothing at all":        {sized(""), "", 0, false, false},
		"cut off":               {strings.TrimSuffix(sized(kv), kv[20:]), "", 0, false, false},
		"cut off, long":         {ok("Content-Length: 9999999\r\n", kv), "", 0, false, true},
		"cut off, in chunks":    {ok("Transfer-Encoding: chunked\r\n", "5\r\n"+kv[:5]), "", 0, false, false},
		"a header that is cut":  {"HTTP/1.1 200 OK\r\nContent-Ty", "", 0, false, false},
		"no header":             {"", "", 0, false, false},
		"another protocol":      {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "", 0, false, false},
		"no index":              {strings.Replace(sized(kv), "X-Consul-Index", "X-Index", 1), "", 0, false, false},
		"two lengths":           {ok("Content-Length: 2\r\nContent-Length: 3\r\n", "[]"), "", 0, false, false},
		"a failure":             {refusal("500 Internal Server Error", " No cluster leader\n"), "", 500, false, false},
		"a failure that is cut": {strings.TrimSuffix(refusal("500 Internal Server Error", "No cluster leader, no"), ", no"), "", 500, false, false},
		"a refusal":             {refusal("403 Forbidden", "Permission denied"), "", 403, false, false},
		"sent elsewhere":        {"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", "", 302, false, false},
		"too many":              {refusal("429 Too Many Requests", "too many"), "", 429, false, false},
		"a junk conflict":       {refusal("409 Conflict", "what is this"), "", 409, false, false},
	} {
		h := startHost(t, func(_ int, conn net.Conn) {
			if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.Copy(io.Discard, req.Body)   // the test shows what is wrong
				_, _ = io.WriteString(conn, tt.answer) // likewise
			}
		})
		directly, library := waysOf(openOn(t, defaultTiming, h.Addr().String()))
		// Each answer is the last of its connection, which nothing is to be sent into.
		over := func() { eventually(t, "it is closed", func() bool { return h.connected() == 0 }) }
		for _, way := range []keys{directly, library} {
			got, meta, err := way.Get("k", consistently(within(t)))
			err = answered(meta, err)
			var status api.StatusError
			errors.As(err, &status)
			if tt.lenient && way == library {
				continue
			}
			if (err == nil) != tt.fine || status.Code != tt.status || err == nil && (got != nil) != (tt.key != "") || got != nil && got.Key != "k" {
				t.Errorf("%s: %T: %+v, %v", what, way, got, err)
			}
			over()
			all, meta, err := way.List("k", consistently(within(t)))
			if err = answered(meta, err); (err == nil) != tt.fine || err == nil && (len(all) > 0) != (tt.key != "") {
				t.Errorf("%s, of a list: %T: %+v, %v", what, way, all, err)
			}
			// What is said of keys is no answer to what changes them.
			over()
			if done, err := way.remove(within(t), "k", 7); done || err == nil && way == directly {
				t.Errorf("%s: %T: removed: %v, %v", what, way, done, err)
			}
			over()
			found, err := way.transact(within(t), []*api.KVTxnOp{remove("k")})
			over()
			status = api.StatusError{}
			if errors.As(err, &status); err == nil || tt.status != 0 && status.Code != tt.status {
				t.Errorf("%s, to a transaction: %T: %+v, %v", what, way, found, err)
			}
		}
	}
}

// A body may be longer than any header is.
func TestDirectAnswerThatIsLong(t *testing.T) {
	body := "[" + strings.Repeat(" ", maxHeader) + "]"
	h := startHost(t, answers(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Consul-Index: 7\r\nContent-Length: %d\r\n\r\n%s", len(body), body)))
	directly, _ := waysOf(openOn(t, defaultTiming, h.Addr().String()))
	_, _, err := directly.List("k", consistently(within(t)))
	must(t, err)
}

// A wait that has ended is not waited for any longer, wherever the answer is.
func TestDirectRequestEndsWithItsContext(t *testing.T) {
	for _, begin := range []string{"", "HTTP/1.1 200 OK\r\nContent-", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\ntr"} {
		asked := make(chan struct{}, 1)
		h := startHost(t, func(_ int, conn net.Conn) {
			in := bufio.NewReader(conn)
			req, err := http.ReadRequest(in)
			if err == nil {
				_, err = io.Copy(io.Discard, req.Body)
			}
			if err == nil {
				_, err = io.WriteString(conn, begin)
			}
			if err != nil {
				t.Error(err)
			}
			asked <- struct{}{}
			_, _ = in.ReadByte() // until the other side has gone
		})
		directly, _ := waysOf(openOn(t, defaultTiming, h.Addr().String()))
		for name, call := range map[string]func(context.Context) error{
			"get":    func(ctx context.Context) error { _, _, err := directly.Get("k", consistently(ctx)); return err },
			"remove": func(ctx context.Context) error { _, err := directly.remove(ctx, "k", 7); return err },
			"transact": func(ctx context.Context) error {
				_, err := directly.transact(ctx, []*api.KVTxnOp{remove("k")})
				return err
			},
		} {
			ctx, cancel := context.WithCancel(within(t))
			result := make(chan error, 1)
			go func() { result <- call(ctx) }()
			receive(t, name, asked)
			cancel()
			wantIs(t, receive(t, name, result), context.Canceled)
			eventually(t, "it is closed", func() bool { return h.connected() == 0 })
		}
	}
}

// An agent that closes a connection when the request is on its way leaves no doubt about
// what only reads, which is asked again; what changes something is not.
func TestDirectConnectionThatIsClosedWhileAsked(t *testing.T) {
	const answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Consul-Index: 7\r\nContent-Length: 4\r\n\r\nnull"
	for what, reads := range map[string]bool{"get": true, "transact": false, "remove": false} {
		h := startHost(t, func(n int, conn net.Conn) {
			in := bufio.NewReader(conn)
			for range 2 {
				req, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body) // the test shows what is wrong
				_, _ = io.WriteString(conn, answer)  // likewise
				if n == 1 {
					_, _ = http.ReadRequest(in) // and no answer
					return
				}
			}
		})
		directly, _ := waysOf(openOn(t, defaultTiming, h.Addr().String()))
		_, _, err := directly.Get("k", consistently(within(t)))
		must(t, err)
		switch what {
		case "get":
			_, _, err = directly.Get("k", consistently(within(t)))
		case "transact":
			_, err = directly.transact(within(t), []*api.KVTxnOp{remove("k")})
		case "remove":
			_, err = directly.remove(within(t), "k", 7)
		}
		if (err == nil) != reads {
			t.Errorf("%s: %v", what, err)
		}
		if n := h.accepted.Load(); (n == 2) != reads {
			t.Errorf("%s: %d connections", what, n)
		}
	}
}

// An agent may answer before it has all of a request, and close the connection.
func TestDirectAnswerBeforeTheEndOfTheRequest(t *testing.T) {
	h := startHost(t, func(_ int, conn net.Conn) {
		_, err := conn.Read(make([]byte, 1))
		if err == nil {
			_, err = io.WriteString(conn, "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 4\r\n\r\nmany")
		}
		if err != nil {
			t.Error(err)
		}
	})
	directly, _ := waysOf(openOn(t, defaultTiming, h.Addr().String()))
	_, err := directly.transact(within(t), []*api.KVTxnOp{lock("k", someSession, make([]byte, 16<<20))})
	if !isFull(err) {
		t.Errorf("the error is %v; want one of status 429", err)
	}
}

// A header without an end is not read to the end of the memory either.
func TestDirectHeaderWithoutEnd(t *testing.T) {
	h := startHost(t, headerWithoutEnd)
	directly, _ := waysOf(openOn(t, defaultTiming, h.Addr().String()))
	_, err := directly.remove(within(t), "k", 7)
	wantIs(t, err, errNoAgent)
}
