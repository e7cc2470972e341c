package consul

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
)

func TestKindsOfErrors(t *testing.T) {
	tests := []struct {
		status int
		body   string
		write  error
		read   error
	}{
		{403, "Permission denied: token with AccessorID '0' lacks permission", driver.ErrDenied, driver.ErrDenied},
		{403, "rpc error making call: ACL not found", driver.ErrDenied, driver.ErrDenied},
		{429, "Your IP is issuing too many concurrent connections, please rate limit your calls", driver.ErrUnavailable, driver.ErrUnavailable},
		{429, "rate limit exceeded, try again later or against a different server", driver.ErrUnavailable, driver.ErrUnavailable},
		{503, "rate limit exceeded for operation that can only be performed by the leader, try again later", driver.ErrUnavailable, driver.ErrUnavailable},
		{500, "No cluster leader", driver.ErrUnavailable, driver.ErrUnavailable},
		{500, "rpc error making call: No cluster leader", driver.ErrUnavailable, driver.ErrUnavailable},
		{500, "No known Consul servers", driver.ErrUnavailable, driver.ErrUnavailable},
		{500, "No path to datacenter", driver.ErrUnavailable, driver.ErrUnavailable},
		{500, "cross datacenter lock must be created at server agent", driver.ErrInvalid, driver.ErrInvalid},
		{500, "raft apply failed: leadership lost while committing log", driver.ErrUncertain, driver.ErrUnavailable},
		{500, "rpc error making call: EOF", driver.ErrUncertain, driver.ErrUnavailable},
		{400, "Bad request: Invalid query parameter", driver.ErrInvalid, driver.ErrInvalid},
		{413, "Request body too large", driver.ErrInvalid, driver.ErrInvalid},
		{302, "Found", driver.ErrInvalid, driver.ErrInvalid},
		{405, "Method Not Allowed", driver.ErrInvalid, driver.ErrInvalid},
		{408, "Request Time-out", driver.ErrUncertain, driver.ErrUnavailable},
		{203, "Non-Authoritative Information", driver.ErrUncertain, driver.ErrUnavailable},
	}
	for _, tt := range tests {
		c := fake(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(tt.status)
			_, _ = w.Write([]byte(tt.body))
		})
		s := fakeSession(t, c)
		_, write := s.Create(within(t), "d", "0", nil)
		_, read := c.List(within(t), "d")
		for _, got := range []struct{ err, want error }{{write, tt.write}, {read, tt.read}} {
			var e *driver.Error
			if !asError(got.err, &e) || e.Kind != got.want || !strings.Contains(e.Error(), tt.body) {
				t.Errorf("%d %s: the error is %v; want the kind %v", tt.status, tt.body, got.err, got.want)
			}
		}
	}
}

// An agent that has only just started does not know its own node yet.
func TestMissingNodeRegistration(t *testing.T) {
	c := connectTo(t, posing(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte("Missing node registration"))
	}))
	_, err := c.OpenSession(within(t), time.Minute)
	wantIs(t, err, driver.ErrUnavailable)
}

// What is refused for a reason that nobody knows has not deleted anything, and not
// updated.
func TestRefusedForNoReason(t *testing.T) {
	n := waitedFor("0", 100)
	c := fake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/txn" {
			answerWith(w, 120, entryFor(n, 100, 100))
			return
		}
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(api.TxnResponse{Errors: api.TxnErrors{{OpIndex: 0, What: "a bad day"}}})
	})
	s := fakeSession(t, c)
	wantIs(t, s.Delete(within(t), n), driver.ErrUnavailable)
	_, err := s.Update(within(t), n, nil)
	wantIs(t, err, driver.ErrUnavailable)
}

// A server that is no agent, behind a URL that is wrong or a proxy that shows a page: that
// is told at once, and nothing is tried again.
func TestServerThatIsNoAgent(t *testing.T) {
	for what, answer := range map[string]http.HandlerFunc{
		"a page": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>It is true that you should log in.</html>"))
		},
		"a redirect":     func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/page", http.StatusFound) },
		"not found":      http.NotFound,
		"something else": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"cluster_name": "search"}`)) },
	} {
		var away atomic.Bool
		c := connectTo(t, posing(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/page":
				t.Error("the redirect was followed")
			case away.Load():
				answer(w, r)
			case r.URL.Path == "/v1/session/create":
				_, _ = w.Write([]byte(`{"ID":"` + someSession + `"}`))
			}
		}))
		s := fakeSession(t, c)
		away.Store(true)
		_, opening := c.OpenSession(within(t), time.Minute)
		_, creation := s.Create(within(t), "d", "0", nil)
		_, list := s.List(within(t), "d")
		var watching error
		for _, err := range c.Watch(within(t), "d") {
			watching = err
		}
		for call, err := range map[string]error{
			"open": opening, "create": creation, "list": list, "watch": watching,
			"renew": c.renewNow(t, someSession), "wait": s.WaitDelete(within(t), waitedFor("0", 100)),
		} {
			if !errors.Is(err, driver.ErrInvalid) || driver.Transient(err) || !strings.Contains(err.Error(), "Consul agent") {
				t.Errorf("%s, answered by %s: the error is %v", call, what, err)
			}
		}
		must(t, s.Err())
	}
}
