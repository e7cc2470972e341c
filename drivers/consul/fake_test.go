package consul

import (
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
)

// What a real agent does rarely is shown by one that is made up.

// fake serves requests by a function, except those that open, renew and end
// sessions, which succeed.
func fake(t *testing.T, timing timing, serve http.HandlerFunc) *conn {
	t.Helper()
	return openOn(t, timing, posing(t, withSessions(serve)))
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

// openOn connects to a host until the test is over.
func openOn(t *testing.T, timing timing, host string) *conn {
	t.Helper()
	c, err := openWith(within(t), driver.Target{Hosts: []string{host}, Namespace: "ns", Logger: zaptest.NewLogger(t)}, timing)
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
	sessions(w, "[]")
}

// sessions answers with a list of sessions as an agent does.
func sessions(w http.ResponseWriter, list string) {
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
	c := fake(t, defaultTiming, func(w http.ResponseWriter, r *http.Request) {
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
	c := fake(t, defaultTiming, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/txn":
			_ = json.NewEncoder(w).Encode(api.TxnResponse{Results: api.TxnResults{{KV: entryFor(own, 100, 100)}}})
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

// The process that deletes a node tells its own waits by itself: here the store
// never does.
func TestOwnDeletionsAreKnown(t *testing.T) {
	c := fake(t, defaultTiming, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			_ = json.NewEncoder(w).Encode(true)
			return
		}
		<-r.Context().Done()
	})
	s := fakeSession(t, c)
	n, later := waitedFor("0", 100), waitedFor("0", 200)
	wait := waiting(within(t), s, n)
	other := waiting(within(t), s, waitedFor("1", 100))
	eventually(t, "both wait", func() bool {
		c.watches.mu.Lock()
		defer c.watches.mu.Unlock()
		return c.watches.eyes == 2
	})
	must(t, s.Delete(within(t), n))
	must(t, receive(t, "the wait", wait))
	next := waiting(within(t), s, later)
	eventually(t, "the next one waits", func() bool {
		c.watches.mu.Lock()
		defer c.watches.mu.Unlock()
		return len(c.watches.lines[c.dir("d")].waits) == 2
	})
	must(t, s.Delete(within(t), n)) // once more
	pendingStill(t, next)
	pendingStill(t, other)
}

// A list of which something was left out is none.
func TestFilteredListIsDenied(t *testing.T) {
	c := fake(t, defaultTiming, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("recurse") {
			w.Header().Set("X-Consul-Results-Filtered-By-Acls", "true")
			answerWith(w, 120)
			return
		}
		<-r.Context().Done() // a key, which stays
	})
	s := fakeSession(t, c)
	_, err := c.List(within(t), "d")
	wantIs(t, err, driver.ErrDenied)
	var waits []<-chan error
	for i := range maxLineEyes + 1 {
		waits = append(waits, waiting(within(t), s, waitedFor(strconv.Itoa(i), 100)))
	}
	for _, w := range waits {
		wantIs(t, receive(t, "a wait", w), driver.ErrDenied)
	}
}

// To those who have no token Consul does not say that something was left out.
func TestEmptyListWithoutAToken(t *testing.T) {
	var denied atomic.Bool
	c := fake(t, defaultTiming, func(w http.ResponseWriter, r *http.Request) {
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

// A new leader that does not know a session yet does not end it.
func TestRenewalByALeaderThatLagsBehind(t *testing.T) {
	var known atomic.Bool
	known.Store(true)
	c := fake(t, defaultTiming, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/v1/session/info/") && known.Load():
			sessions(w, `[{"ID":"`+someSession+`"}]`)
		case strings.HasPrefix(r.URL.Path, "/v1/session/info/"):
			noSession(w)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	s := fakeSession(t, c)
	wantIs(t, s.renew(within(t)), driver.ErrUnavailable)
	must(t, s.Err())
	known.Store(false)
	wantIs(t, s.renew(within(t)), driver.ErrSessionLost)
}

// A leader that was elected a moment ago, and has not caught up, takes a session that
// there is for one that there is not, and says that it was destroyed.
func TestLeaderThatIsBehindDestroysNothing(t *testing.T) {
	var destroys atomic.Int32
	c := openOn(t, defaultTiming, posing(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/session/create":
			_, _ = w.Write([]byte(`{"ID":"` + someSession + `"}`))
		case r.URL.Path == "/v1/session/destroy/"+someSession:
			destroys.Add(1)
			_, _ = w.Write([]byte("true"))
		case r.URL.Path == "/v1/session/info/"+someSession && destroys.Load() < 2:
			sessions(w, `[{"ID":"`+someSession+`"}]`)
		default:
			noSession(w)
		}
	}))
	must(t, fakeSession(t, c).Close(within(t)))
	if n := destroys.Load(); n != 2 {
		t.Errorf("it was destroyed %d times; want 2, for the first had no effect", n)
	}
}

// A token that may not read sessions any more sees none, which says nothing.
func TestHiddenSessionIsNotLost(t *testing.T) {
	c := fake(t, defaultTiming, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Consul-Results-Filtered-By-Acls", "true")
		noSession(w)
	})
	s := fakeSession(t, c)
	wantIs(t, s.lookUp(within(t)), driver.ErrDenied)
	if err := s.Err(); err != nil {
		t.Errorf("the session has ended: %v", err)
	}
}
