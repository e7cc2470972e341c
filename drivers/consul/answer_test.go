package consul

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
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
		{500, "cross datacenter lock must be created at server agent", nil, nil},
		{500, "raft apply failed: leadership lost while committing log", driver.ErrUncertain, driver.ErrUnavailable},
		{500, "rpc error making call: EOF", driver.ErrUncertain, driver.ErrUnavailable},
		{400, "Bad request: Invalid query parameter", nil, nil},
		{413, "Request body too large", nil, nil},
	}
	for _, tt := range tests {
		c := fake(t, defaultTiming, func(w http.ResponseWriter, r *http.Request) {
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
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte("Missing node registration"))
	}))
	defer server.Close()
	c, err := open(within(t), driver.Target{Hosts: []string{strings.TrimPrefix(server.URL, "http://")}, Namespace: "ns"})
	must(t, err)
	_, err = c.OpenSession(within(t), time.Minute)
	wantIs(t, err, driver.ErrUnavailable)
	must(t, c.Close())
}

// What is refused for a reason that nobody knows has not deleted anything, and not
// updated.
func TestRefusedForNoReason(t *testing.T) {
	n := waitedFor("0", 100)
	c := fake(t, defaultTiming, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodDelete:
			_ = json.NewEncoder(w).Encode(false)
			return
		case r.URL.Path != "/v1/txn":
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
