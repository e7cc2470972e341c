package consul

import (
	"context"
	"encoding/json"
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
		{500, "cross datacenter lock must be created at server agent", nil, nil},
		{500, "raft apply failed: leadership lost while committing log", driver.ErrUncertain, driver.ErrUnavailable},
		{500, "rpc error making call: EOF", driver.ErrUncertain, driver.ErrUnavailable},
		{400, "Bad request: Invalid query parameter", nil, nil},
		{413, "Request body too large", nil, nil},
		{302, "Found", driver.ErrUnavailable, driver.ErrUnavailable},
		{408, "Request Time-out", driver.ErrUncertain, driver.ErrUnavailable},
		{203, "Non-Authoritative Information", driver.ErrUncertain, driver.ErrUnavailable},
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
	c := openOn(t, defaultTiming, posing(t, func(w http.ResponseWriter, r *http.Request) {
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

// Somebody between the program and its agent shows it a page of his own, or sends it to
// one: that is no renewal, and nothing was deleted or ended by it.
func TestPageIsNoAnswer(t *testing.T) {
	page := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>It is true that you should log in.</html>"))
	}
	for what, answer := range map[string]http.HandlerFunc{
		"shown":   func(w http.ResponseWriter, _ *http.Request) { page(w) },
		"sent to": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/page", http.StatusFound) },
	} {
		var away atomic.Bool
		s := fakeSession(t, openOn(t, defaultTiming, posing(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/page":
				t.Error("the redirect was followed")
			case away.Load():
				answer(w, r)
			case r.URL.Path == "/v1/session/create":
				_, _ = w.Write([]byte(`{"ID":"` + someSession + `"}`))
			case r.URL.Path == "/v1/session/renew/"+someSession:
				_, _ = w.Write([]byte(`[{"ID":"` + someSession + `"}]`))
			}
		})))
		must(t, s.renew(within(t)))
		away.Store(true)
		n := driver.Node{Dir: "d", ID: "0", Session: s.id, Key: s.conn.node("d", s.id, "0"), Seq: 7, Token: 7, Version: 7}
		for _, call := range []struct {
			name string
			err  error
		}{{"renew", s.renew(within(t))}, {"delete", s.Delete(within(t), n)}, {"close", s.Close(within(t))}} {
			if call.err == nil || !driver.Transient(call.err) {
				t.Errorf("%s, %s a page: the error is %v", call.name, what, call.err)
			}
		}
	}
}

// Nor is what says that it is JSON a renewal, if it is not of this session.
func TestPageIsNoRenewal(t *testing.T) {
	for _, page := range []string{"<html>please log in</html>", "true", "[]", `[{"ID":"another"}]`, ""} {
		c := fake(t, defaultTiming, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(page)) })
		if err := fakeSession(t, c).renew(within(t)); err == nil {
			t.Errorf("%q is taken for a renewal", page)
		}
	}
}

// Somebody between the program and its agent knows nothing of our keys: that is not to
// say that there are none.
func TestStrangersNotFoundIsNoAnswer(t *testing.T) {
	c := fake(t, defaultTiming, func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
	s := fakeSession(t, c)
	_, err := c.List(within(t), "d")
	wantIs(t, err, driver.ErrUnavailable)
	_, err = c.get(within(t), s.op("get", "k"), "k")
	wantIs(t, err, driver.ErrUnavailable)
	ctx, cancel := context.WithTimeout(within(t), 50*time.Millisecond)
	defer cancel()
	wantIs(t, s.WaitDelete(ctx, waitedFor("0", 100)), context.DeadlineExceeded)
}
