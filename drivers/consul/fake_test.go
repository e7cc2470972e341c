package consul

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
	"go.uber.org/zap/zaptest"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
)

// What a real agent does rarely is shown by one that is made up.

const someSession = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"

// fake serves requests by a function, except those that open, renew and end
// sessions, which succeed.
func fake(t *testing.T, serve http.HandlerFunc) *conn {
	t.Helper()
	return connectTo(t, posing(t, withSessions(serve)))
}

func withSessions(serve http.HandlerFunc) http.HandlerFunc {
	var ended atomic.Bool
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/session/create":
			_, _ = w.Write([]byte(`{"ID":"` + someSession + `"}`))
		case r.URL.Path == "/v1/session/destroy/"+someSession:
			ended.Store(true)
			_, _ = w.Write([]byte("true"))
		case r.URL.Path == "/v1/session/info/"+someSession && ended.Load():
			noSession(w)
		default:
			serve(w, r)
		}
	}
}

// posing serves requests by a function, and says of its answers that they are JSON, as
// agents do.
func posing(t *testing.T, serve http.HandlerFunc) (host string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		serve(w, r)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// connectTo connects to a host until the test is over.
func connectTo(t *testing.T, host string) *conn {
	t.Helper()
	c, err := openOn(within(t), driver.Target{Hosts: []string{host}, Namespace: "ns", Logger: zaptest.NewLogger(t)})
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

// answerWith writes entries as Consul does.
func answerWith(w http.ResponseWriter, index uint64, kvs ...*api.KVPair) {
	w.Header().Set("X-Consul-Index", strconv.FormatUint(index, 10))
	w.Header().Set("X-Consul-Lastcontact", "0")
	if len(kvs) == 0 {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(kvs) // fails if the client is gone
}

// noSession answers that there is none.
func noSession(w http.ResponseWriter) {
	sayingSessions(w, "[]")
}

// sayingSessions answers with a list of sessions as an agent does.
func sayingSessions(w http.ResponseWriter, list string) {
	w.Header().Set("X-Consul-Index", "7")
	w.Header().Set("X-Consul-Lastcontact", "0")
	_, _ = w.Write([]byte(list))
}

func fakeSession(t *testing.T, c *conn) *session {
	t.Helper()
	s, err := c.OpenSession(within(t), time.Minute)
	must(t, err)
	return s.(*session)
}

// A leader that was deposed does not know of a node: no reason to think that it
// is gone.
func TestDeposedLeaderHidesANode(t *testing.T) {
	n := waitedFor("0", 100)
	var consistent atomic.Int32
	deleted := make(chan struct{})
	c := fake(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Has("consistent"):
			consistent.Add(1)
			answerWith(w, 100, entryFor(n, 100, 100))
		case consistent.Load() == 0:
			answerWith(w, 90)
		default:
			select {
			case <-deleted:
			case <-r.Context().Done():
			}
			answerWith(w, 120)
		}
	})
	s := fakeSession(t, c)
	wait := waiting(within(t), s, n)
	eventually(t, "it makes sure", func() bool { return consistent.Load() == 1 })
	pendingStill(t, wait)
	close(deleted)
	must(t, receive(t, "the wait", wait))
}

// Likewise for a list: it has to show the session's own node.
func TestDeposedLeaderHidesOnesOwnNode(t *testing.T) {
	own := waitedFor("0", 100)
	c := fake(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/txn":
			_ = json.NewEncoder(w).Encode(api.TxnResponse{Results: api.TxnResults{{KV: entryFor(own, 100, 100)}, {KV: entryFor(own, 100, 100)}}})
		case r.URL.Query().Has("consistent"):
			answerWith(w, 100, entryFor(own, 100, 100))
		default:
			answerWith(w, 90)
		}
	})
	s := fakeSession(t, c)
	_, err := s.Create(within(t), "d", "0", nil)
	must(t, err)
	nodes, err := s.List(within(t), "d")
	must(t, err)
	if len(nodes) != 1 || !nodes[0].Same(own) {
		t.Errorf("listed %+v; want %+v", nodes, own)
	}
}

// A list of which something was left out is none.
func TestFilteredListIsDenied(t *testing.T) {
	c := fake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("recurse") {
			w.Header().Set("X-Consul-Results-Filtered-By-Acls", "true")
			answerWith(w, 120)
			return
		}
	})
	_, err := c.List(within(t), "d")
	wantIs(t, err, driver.ErrDenied)
	for _, err := range c.Watch(within(t), "d") {
		wantIs(t, err, driver.ErrDenied)
	}
}

// To those who have no token Consul does not say that something was left out.
func TestEmptyListWithoutAToken(t *testing.T) {
	var denied atomic.Bool
	c := fake(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Consul-Default-ACL-Policy", "deny")
		if !r.URL.Query().Has("recurse") && denied.Load() {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		answerWith(w, 120)
	})
	nodes, err := c.List(within(t), "d")
	must(t, err)
	if len(nodes) > 0 {
		t.Errorf("listed %+v", nodes)
	}
	denied.Store(true)
	_, err = c.List(within(t), "d")
	wantIs(t, err, driver.ErrDenied)
}

// A leader that was elected a moment ago, and has not caught up, takes a session that
// there is for one that there is not, and says that it was destroyed.
func TestLeaderThatIsBehindDestroysNothing(t *testing.T) {
	var destroys atomic.Int32
	c := connectTo(t, posing(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/session/create":
			_, _ = w.Write([]byte(`{"ID":"` + someSession + `"}`))
		case r.URL.Path == "/v1/session/destroy/"+someSession:
			destroys.Add(1)
			_, _ = w.Write([]byte("true"))
		case r.URL.Path == "/v1/session/info/"+someSession && destroys.Load() < 2:
			sayingSessions(w, `[{"ID":"`+someSession+`"}]`)
		default:
			noSession(w)
		}
	}))
	s := fakeSession(t, c)
	wantIs(t, s.Close(within(t)), driver.ErrUncertain)
	must(t, s.Close(within(t)))
	if n := destroys.Load(); n != 2 {
		t.Errorf("it was destroyed %d times; want 2, for the first had no effect", n)
	}
}

// waitedFor is a node of someSession.
func waitedFor(id string, token uint64) driver.Node {
	return driver.Node{
		Dir: "d", ID: id, Key: "ns/d/" + someSession + "-" + id, Session: someSession, Token: token, Version: token,
	}
}

func entryFor(n driver.Node, created, changed uint64) *api.KVPair {
	return &api.KVPair{Key: n.Key, Session: someSession, CreateIndex: created, ModifyIndex: changed}
}

// renewNow makes one renewal of a session.
func (c *conn) renewNow(t *testing.T, id string) error {
	t.Helper()
	o := attempt.Op{Store: store, Name: "renew", Key: id, Limit: patience}
	return o.Do(within(t), c.sessions.Life(), c.send(o, forSession, func(ctx context.Context, a *api.Client) error { return c.renew(ctx, a, o) }))
}

// A new leader that does not know a session yet does not end it. Nor does a token that may
// not read sessions any more.
func TestRenewalByALeaderThatLagsBehind(t *testing.T) {
	const known, hidden = 0, 1
	var state atomic.Int32
	c := fake(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.HasPrefix(r.URL.Path, "/v1/session/info/"):
			w.WriteHeader(http.StatusNotFound)
			return
		case state.Load() == known:
			sayingSessions(w, `[{"ID":"`+someSession+`"}]`)
			return
		case state.Load() == hidden:
			w.Header().Set("X-Consul-Results-Filtered-By-Acls", "true")
		}
		noSession(w)
	})
	for now, kind := range []error{driver.ErrUnavailable, driver.ErrDenied, driver.ErrSessionLost} {
		state.Store(int32(now))
		wantIs(t, c.renewNow(t, someSession), kind)
	}
}
