package consul

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
	"github.com/coordkit/coordkit/coord/driver/fence"
	"github.com/coordkit/coordkit/coord/driver/lease"
	"github.com/coordkit/coordkit/coord/driver/sessions"
)

// maxTTL is what Consul grants at the most. How little it grants depends on the servers'
// session_ttl_min.
const maxTTL = 24 * time.Hour

// session implements driver.Session, driver.CreateLister and driver.AnyWaiter. What it is
// and how it ends is in sessions.Session.
type session struct {
	sessions.Session
	conn  *conn
	fence fence.Position

	mu sync.Mutex
	// written is the index of the session's last acknowledged create or update in each
	// directory, if it has deleted nothing there since.
	written  map[string]uint64
	removals int
	own      map[string]driver.Node // the session's nodes as it has written them, by key
}

var (
	_ driver.CreateLister = (*session)(nil)
	_ driver.AnyWaiter    = (*session)(nil)
)

// OpenSession implements driver.Conn. The session has no health checks: with serfHealth,
// which Consul adds by default, it would end when the agent is thought to be dead. If the
// reply is lost, a session that nothing is bound to is left to expire.
func (c *conn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	o := attempt.Op{Store: store, Name: "open session", Write: true, Limit: max(min(ttl/3, limit), time.Second)}
	if ttl <= 0 || ttl > maxTTL {
		return nil, o.Failed(driver.ErrInvalid, fmt.Errorf("a TTL of %v; want %s", ttl, grantedTTL("")))
	}
	entry := &api.SessionEntry{
		Name:      string(c.keyspace),
		TTL:       ttl.String(),
		Behavior:  api.SessionBehaviorDelete,
		LockDelay: time.Nanosecond, // the shortest there is; 0 is 15 s
	}
	var id string
	sent := time.Now()
	err := o.Do(ctx, c.sessions.Life(), c.send(o, forSession, func(ctx context.Context, a *api.Client) (err error) {
		id, _, err = a.Session().CreateNoChecks(entry, new(api.WriteOptions).WithContext(ctx))
		if err == nil && id == "" {
			err = errNotConsul
		}
		return err
	}))
	if errors.Is(err, driver.ErrInvalid) && strings.Contains(err.Error(), "Invalid Session TTL") {
		return nil, o.Failed(driver.ErrInvalid, fmt.Errorf("a TTL of %v; want %s", ttl, grantedTTL(err.Error())))
	}
	if err != nil {
		return nil, err
	}
	s := &session{conn: c, written: make(map[string]uint64), own: make(map[string]driver.Node)}
	renew := attempt.Op{Store: store, Name: "renew", Key: id, Limit: ttl / 2}
	revoke := attempt.Op{Store: store, Name: "close", Key: id, Write: true, Limit: min(ttl/3, limit)}
	err = c.sessions.Open(&s.Session, sessions.Config{
		Lease: lease.Config{
			Session: id, TTL: ttl, Sent: sent,
			Renew: c.send(renew, forSession, func(ctx context.Context, a *api.Client) error { return c.renew(ctx, a, renew) }),
		},
		Revoke: c.send(revoke, forSession, func(ctx context.Context, a *api.Client) error { return c.destroy(ctx, a, revoke) }),
	})
	if err != nil { // the connection was closed; if this fails too, the session expires
		last, cancel := context.WithTimeout(context.Background(), time.Second/2)
		defer cancel()
		_ = c.send(revoke, forSession, func(ctx context.Context, a *api.Client) error { return c.destroy(ctx, a, revoke) })(last)
		return nil, err
	}
	return s, nil
}

// grantedTTL finds the range in what a server says: "must be between [10s=24h0m0s]".
func grantedTTL(text string) string {
	_, text, _ = strings.Cut(text, "[")
	text, _, _ = strings.Cut(text, "]")
	if least, most, ok := strings.Cut(text, "="); ok {
		return fmt.Sprintf("from %s (session_ttl_min of the servers) to %s", least, most)
	}
	return fmt.Sprintf("from 10s (or session_ttl_min of the servers) to %v", maxTTL)
}

// renew renews a session. If the leader does not know it, the leader may have been elected
// a moment ago and lack what its predecessor has acknowledged. So a linearizable read
// decides.
func (c *conn) renew(ctx context.Context, a *api.Client, o attempt.Op) error {
	var renewed []api.SessionEntry // the method of package api hides what was answered
	_, err := a.Raw().Write("/v1/session/renew/"+o.Key, nil, &renewed, new(api.WriteOptions).WithContext(ctx))
	answer, _ := errors.AsType[api.StatusError](err)
	switch {
	case answer.Code == http.StatusNotFound:
	case err != nil:
		return err
	case len(renewed) != 1 || renewed[0].ID != o.Key:
		return errNotConsul
	default:
		return nil
	}
	switch exists, err := sessionExists(ctx, a, o); {
	case err != nil:
		return err
	case exists:
		return o.Failed(driver.ErrUnavailable, errors.New("the leader does not know the session yet"))
	}
	return o.Failed(driver.ErrSessionLost, errors.New("the store knows no such session"))
}

// destroy ends a session with all its keys. Such a leader takes a session that it does not
// know for one that is gone. So a linearizable read follows.
func (c *conn) destroy(ctx context.Context, a *api.Client, o attempt.Op) error {
	done := false // the method of package api does not look at the answer
	_, err := a.Raw().Write("/v1/session/destroy/"+o.Key, nil, &done, new(api.WriteOptions).WithContext(ctx))
	switch {
	case err != nil:
		return err
	case !done:
		return errNotConsul
	}
	switch exists, err := sessionExists(ctx, a, o); {
	case err != nil:
		return err
	case exists:
		return o.Failed(driver.ErrUncertain, errors.New("the leader does not know the session yet"))
	}
	return nil
}

func sessionExists(ctx context.Context, a *api.Client, o attempt.Op) (bool, error) {
	entry, meta, err := a.Session().Info(o.Key, consistently(ctx))
	switch {
	case err != nil:
		return false, err
	case meta.LastIndex == 0:
		return false, errNotConsul
	case entry == nil && meta.ResultsFilteredByACLs:
		return false, api.StatusError{Code: http.StatusForbidden, Body: "the token may not read the sessions of the node"}
	}
	return entry != nil, nil
}

// consistently makes a linearizable read. By default Consul answers from what its leader
// has, also if the leader was deposed and does not know it yet, or has not caught up yet.
func consistently(ctx context.Context) *api.QueryOptions {
	return (&api.QueryOptions{RequireConsistent: true}).WithContext(ctx)
}

// asOf is how much the session had deleted before a write.
func (s *session) asOf() (removals int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.removals
}

// wrote takes note of the session's write of a node, unless it has deleted something in the
// meantime: the order of the two is not known.
func (s *session) wrote(n driver.Node, asOf int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.own[n.Key]; !known.Same(n) || known.Version < n.Version {
		s.own[n.Key] = driver.Node{Key: n.Key, Token: n.Token, Version: n.Version}
	}
	if asOf == s.removals {
		s.written[n.Dir] = max(s.written[n.Dir], n.Version)
	}
}

// removed takes note that the session may have deleted a node, at an index that Consul does
// not tell.
func (s *session) removed(dir, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removals++
	delete(s.written, dir)
	delete(s.own, key)
}

// version returns the index of a node's last change, as far as it is known. The caller's
// node may be from before an update.
func (s *session) version(n driver.Node) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := max(n.Version, n.Token)
	if known := s.own[n.Key]; known.Same(n) {
		version = max(version, known.Version)
	}
	return version
}

// lastWrite returns the index of the last change in a directory, or 0 if it is not known.
func (s *session) lastWrite(dir string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written[dir]
}
