package consul

import (
	"bytes"
	"context"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"
)

// direct is the way to an agent without package api, over a pool, for what locks are
// made of. What goes that way is written as it is to be sent, and what comes is read
// for the few things of interest. With maps of headers, reflection and a dozen copies of
// each request a lock would take a third as much of the client's processor time again.
type direct struct {
	pool   func() *pool
	query  string // parameters of every request, as "dc=x"
	header string // of every request, with the end of the request line before it
}

// newKeys returns the best way to the agent of a client of package api.
func newKeys(of *http.Client, client *api.Client, wire *transport) keys {
	if d := newDirect(of, client, wire); d != nil {
		return d
	}
	return newLibrary(client)
}

// newDirect returns the way to the agent of a client of package api, which uses that of
// package http and a transport, or nil if there is none. What a client sends with every
// request comes from its configuration and from the environment; so package api is had
// make a request, which is not sent.
func newDirect(of *http.Client, client *api.Client, wire *transport) *direct {
	if wire.library != nil {
		return nil
	}
	sample := new(sampler)
	was := of.Transport
	of.Transport = sample
	_, _, _ = client.KV().Get("x", nil) // fails
	of.Transport = was
	req := sample.req
	if req == nil || req.URL.Scheme != "http" || req.URL.EscapedPath() != "/v1/kv/x" {
		return nil
	}
	host := req.URL.Host
	if req.Host != host || !isPlain(host) || strings.ContainsAny(host, " %") {
		return nil // package http encodes it
	}
	req.Header.Del("Content-Type")
	header := " HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: Go-http-client/1.1\r\n" // as package http has it
	for name, values := range req.Header {
		for _, value := range values {
			if !isPlain(value) || value != textproto.TrimString(value) {
				return nil // package http says what is wrong with it, or puts it right
			}
			header += name + ": " + value + "\r\n"
		}
	}
	return &direct{
		pool:   func() *pool { return wire.pool(purpose{addr: host}) },
		query:  req.URL.RawQuery,
		header: header,
	}
}

// sampler is a transport that sends nothing.
type sampler struct{ req *http.Request }

// RoundTrip implements http.RoundTripper.
func (s *sampler) RoundTrip(req *http.Request) (*http.Response, error) {
	s.req = req
	return nil, http.ErrNotSupported
}

// Get implements keys.
func (d *direct) Get(key string, q *api.QueryOptions) (*api.KVPair, *api.QueryMeta, error) {
	kvs, meta, err := d.read(key, "", q)
	if err != nil || len(kvs) == 0 {
		return nil, meta, err
	}
	return kvs[0], meta, nil
}

// List implements keys.
func (d *direct) List(prefix string, q *api.QueryOptions) (api.KVPairs, *api.QueryMeta, error) {
	return d.read(prefix, "recurse", q)
}

func (d *direct) read(key, param string, q *api.QueryOptions) (api.KVPairs, *api.QueryMeta, error) {
	w := d.begin(http.MethodGet, "kv/", key)
	if param != "" {
		w.param(param)
	}
	if q.RequireConsistent {
		w.param("consistent")
	}
	if q.WaitIndex > 0 {
		w.param("index=").number(q.WaitIndex)
	}
	if q.WaitTime > 0 {
		w.param("wait=").number(uint64(max(q.WaitTime/time.Millisecond, 1))).text("ms")
	}
	a, err := d.pool().converse(q.Context(), w.end(nil), true)
	switch {
	case err != nil:
		return nil, nil, err
	case a.status == http.StatusNotFound:
		return nil, &a.meta, nil
	case a.status != http.StatusOK:
		return nil, nil, a.failure()
	}
	kvs, err := readEntries(a.body)
	a.body = nil // the caller may keep the rest
	return kvs, &a.meta, err
}

func (d *direct) remove(ctx context.Context, key string, index uint64) (bool, error) {
	w := d.begin(http.MethodDelete, "kv/", key)
	a, err := d.pool().converse(ctx, w.param("cas=").number(index).end(nil), false)
	switch {
	case err != nil:
		return false, err
	case a.status != http.StatusOK:
		return false, a.failure()
	}
	switch string(bytes.TrimSpace(a.body)) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errNoAgent
}

func (d *direct) transact(ctx context.Context, ops []*api.KVTxnOp) (findings, error) {
	a, err := d.pool().converse(ctx, d.begin(http.MethodPut, "txn", "").end(appendOps(nil, ops)), false)
	switch {
	case err != nil:
		return findings{}, err
	case a.status != http.StatusOK:
		return findings{}, a.failure()
	}
	return readFindings(a.body)
}

// words is a request as it is written.
type words struct {
	direct *direct
	b      []byte
	params int
}

// begin begins a request: for what, and for which key if that is about one. Package api
// has the slash between.
func (d *direct) begin(method, what, key string) *words {
	w := &words{direct: d, b: make([]byte, 0, 512)}
	w.text(method).text(" /v1/").text(what)
	if key != "" {
		w.text((&url.URL{Path: strings.TrimPrefix(key, "/")}).EscapedPath())
	}
	if d.query != "" {
		w.param(d.query)
	}
	return w
}

func (w *words) text(s string) *words {
	w.b = append(w.b, s...)
	return w
}

func (w *words) number(n uint64) *words {
	w.b = strconv.AppendUint(w.b, n, 10)
	return w
}

// param adds a parameter, or the beginning of one.
func (w *words) param(s string) *words {
	sep := "&"
	if w.params == 0 {
		sep = "?"
	}
	w.params++
	return w.text(sep).text(s)
}

// end ends a request and returns it. It has a body if that is not nil.
func (w *words) end(body []byte) []byte {
	w.text(w.direct.header)
	if body != nil {
		w.text("Content-Type: application/json\r\nContent-Length: ").number(uint64(len(body))).text("\r\n")
	}
	w.text("\r\n")
	return append(slices.Grow(w.b, len(body)), body...)
}
