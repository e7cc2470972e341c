package consul

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
)

// maxTTL is what Consul grants at the most. How little it grants depends on the
// servers' session_ttl_min.
const maxTTL = 24 * time.Hour

// shortestOpening is the least that the opening of a session may take, however
// short its TTL.
const shortestOpening = time.Second

// pause keeps attempts that fail at once apart.
const pause = 50 * time.Millisecond

// OpenSession implements driver.Conn. The session has no health checks: with
// serfHealth, which Consul adds by itself, it would end when the agent is
// thought to be dead, without regard to its TTL. Its nodes are deleted with it,
// and what the lock-delay would protect from others, their names, is the
// session's alone.
func (c *conn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	o := op{name: "open session", write: true, limit: max(c.timing.of(ttl), shortestOpening), life: c.ctx}
	if ttl <= 0 || ttl > maxTTL {
		return nil, invalid(o, "a TTL of %v; Consul grants from 10s, or less if session_ttl_min of its servers says so, to %v", ttl, maxTTL)
	}
	if !c.enter() {
		return nil, failed(o, driver.ErrClosed, nil)
	}
	defer c.farther.Done()
	o.keeping = c.keepsNone()
	entry := &api.SessionEntry{
		// By its name it is found again when the reply is lost.
		Name:      fmt.Sprintf("%s %s", c.keyspace, strings.ToLower(rand.Text()[:12])),
		TTL:       ttl.String(),
		Behavior:  api.SessionBehaviorDelete,
		LockDelay: time.Nanosecond, // the shortest there is; 0 is 15 s
	}
	var id string
	sent := time.Now()
	err := c.do(ctx, o, func(ctx context.Context, a *agent) (err error) {
		id, _, err = a.Session().CreateNoChecks(entry, new(api.WriteOptions).WithContext(ctx))
		return err
	})
	switch {
	case err == nil:
	case strings.Contains(err.Error(), errTTL):
		return nil, invalid(o, "a TTL of %v; this server grants %s", ttl, granted(err.Error()))
	case errors.Is(err, driver.ErrUncertain):
		c.findAndDestroy(entry.Name, ttl)
		return nil, err
	default:
		return nil, err
	}
	s := newSession(c, id, ttl, sent)
	if !c.adopt(s) { // Close has begun in the meantime
		s.close()
		s.cancel()
		s.lease.Wait()
		c.farther.Go(func() { c.destroyUntilDone(id, o.limit, ttl) })
		return nil, s.Err()
	}
	return s, nil
}

// keepsNone reports whether there is no session. Then the opening of one makes the
// connection by which it is kept: a new one, as one that was idle may be dead
// without having told.
func (c *conn) keepsNone() bool {
	c.mu.Lock()
	none := len(c.sessions) == 0
	c.mu.Unlock()
	if none && c.refresh != nil {
		c.refresh()
	}
	return none
}

// granted finds the range in what a server says: "must be between
// [10s=24h0m0s]".
func granted(text string) string {
	_, text, _ = strings.Cut(text, "[")
	text, _, _ = strings.Cut(text, "]")
	if least, most, ok := strings.Cut(text, "="); ok {
		return fmt.Sprintf("from %s (its session_ttl_min) to %s", least, most)
	}
	return fmt.Sprintf("no less than its session_ttl_min, which is 10s by default, and no more than %v", maxTTL)
}

// destroy ends a session. One that does not exist is success. That it does not is
// asked once more: a leader that was elected a moment ago, and has not caught up,
// says it of any.
func (c *conn) destroy(ctx context.Context, id string, limit time.Duration) error {
	o := op{name: "destroy session", key: id, write: true, limit: limit, life: c.ctx}
	err := c.do(ctx, o, func(ctx context.Context, a *agent) error {
		done := false
		_, err := a.Raw().Write("/v1/session/destroy/"+id, nil, &done, new(api.WriteOptions).WithContext(ctx))
		if err == nil && !done {
			err = errNoAgent
		}
		return err
	})
	if err != nil {
		return err
	}
	read := o
	read.write = false
	exists, err := c.exists(ctx, read, id)
	if err == nil && exists {
		err = errors.New("the leader does not know the session yet")
	}
	if err == nil || errors.Is(err, driver.ErrClosed) {
		return err
	}
	var e *driver.Error
	if errors.As(err, &e) && e.Kind == driver.ErrUnavailable { // which is said of the read
		err = e.Err
	}
	return failed(o, driver.ErrUncertain, err)
}

// exists asks whether there is such a session.
func (c *conn) exists(ctx context.Context, o op, id string) (bool, error) {
	var found *api.SessionEntry
	err := c.do(ctx, o, func(ctx context.Context, a *agent) (err error) {
		var meta *api.QueryMeta
		found, meta, err = a.Session().Info(id, consistently(ctx))
		err = answered(meta, err)
		if err == nil && found == nil && meta.ResultsFilteredByACLs {
			err = errHidden
		}
		return err
	})
	return found != nil, err
}

var errHidden = api.StatusError{Code: http.StatusForbidden, Body: "the token may not read the sessions of the node"}
