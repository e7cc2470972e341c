package consul

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
)

func (f *fixture) sessionInfo(id string) *api.SessionEntry {
	f.t.Helper()
	info, _, err := f.admin.Session().Info(id, &api.QueryOptions{RequireConsistent: true})
	must(f.t, err)
	return info
}

func (f *fixture) destroySession(id string) {
	f.t.Helper()
	_, err := f.admin.Session().Destroy(id, nil)
	must(f.t, err)
}

// No health check ends it, its keys go with it, and no lock-delay of note.
func TestSessionInTheStore(t *testing.T) {
	f := start(t)
	s := f.open(90 * time.Second)
	info := f.sessionInfo(s.ID())
	if info == nil || info.TTL != "1m30s" || info.Behavior != "delete" || info.LockDelay != time.Millisecond ||
		len(info.NodeChecks)+len(info.ServiceChecks)+len(info.Checks) > 0 || !strings.HasPrefix(info.Name, string(f.keyspace)+" ") {
		t.Errorf("the session is %+v", info)
	}
	if s.TTL() != 90*time.Second {
		t.Errorf("TTL is %v", s.TTL())
	}
}

func TestRangeOfTTL(t *testing.T) {
	f := startOn(t, standard.Get(t), defaultTiming)
	for ttl, want := range map[time.Duration][]string{
		9 * time.Second:            {"9s", "from 10s", "to 24h0m0s", "session_ttl_min"},
		time.Nanosecond:            {"1ns", "from 10s", "to 24h0m0s"},
		24*time.Hour + time.Second: {"24h0m1s", "from 10s", "24h0m0s"},
		0:                          {"from 10s", "24h0m0s"},
		-time.Second:               {"from 10s", "24h0m0s"},
	} {
		_, err := f.OpenSession(within(t), ttl)
		wantIs(t, err, driver.ErrInvalid)
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
	}
	f.open(10 * time.Second)
	f.open(24 * time.Hour)
	if got := granted("some other words"); !strings.Contains(got, "10s") || !strings.Contains(got, "24h") {
		t.Errorf("without the server's words the range is %q", got)
	}
}

func TestSessionDestroyedByAnOperator(t *testing.T) {
	f := start(t)
	s, other := f.open(shortTTL), f.open(time.Minute)
	n := f.create(other, "d", "0")
	f.create(s, "d", "0")
	wait := waiting(within(t), s, n)
	f.destroySession(s.id)
	receive(t, "Done", s.Done())
	wantIs(t, s.Err(), driver.ErrSessionLost)
	wantIs(t, receive(t, "the wait", wait), driver.ErrSessionLost)
	f.wantKeys("d", 1)
	must(t, other.Err()) // S8

	counted := f.tap.during(func() {
		_, err := s.Create(within(t), "d", "0", nil)
		wantIs(t, err, driver.ErrSessionLost)
		_, err = s.List(within(t), "d")
		wantIs(t, err, driver.ErrSessionLost)
		_, err = s.Update(within(t), n, nil)
		wantIs(t, err, driver.ErrSessionLost)
		wantIs(t, s.Delete(within(t), n), driver.ErrSessionLost)
		wantIs(t, s.Abandon(within(t), "d", "0"), driver.ErrSessionLost)
		wantIs(t, s.WaitDelete(within(t), n), driver.ErrSessionLost)
		must(t, s.Close(within(t)))
	})
	wantSent(t, "an ended session", counted, sent{})
	wantIs(t, s.Err(), driver.ErrSessionLost) // only the first reason counts
}

// A node of the session that is gone without its doing makes it ask whether it
// lives on: long before the next renewal.
func TestOwnNodeGoneWithTheSession(t *testing.T) {
	f := start(t)
	s := f.open(time.Hour)
	nodes := f.fill(s, "d", 10)
	f.create(s, "e", "0")
	var waits []<-chan error
	for _, n := range nodes {
		waits = append(waits, waiting(within(t), s, n))
	}
	f.eventuallyWaiting("d", len(nodes))
	f.remove(nodes[0].Key)
	must(t, receive(t, "the wait for a node that was removed", waits[0]))
	must(t, s.Err())
	f.destroySession(s.id)
	for _, w := range waits[1:] {
		wantIs(t, receive(t, "a wait", w), driver.ErrSessionLost)
	}
	receive(t, "Done", s.Done())
	wantIs(t, s.Err(), driver.ErrSessionLost)
}

// A transaction for a session that is gone is how it may learn of that first.
func TestTransactionsLearnOfTheLoss(t *testing.T) {
	f := start(t)
	for what, do := range map[string]func(s *session) error{
		"create":  func(s *session) error { _, err := s.Create(within(t), "d", "0", nil); return err },
		"abandon": func(s *session) error { return s.Abandon(within(t), "d", "0") },
	} {
		s := f.open(time.Minute)
		f.destroySession(s.id)
		err := do(s)
		wantIs(t, err, driver.ErrSessionLost)
		if ended := s.Err(); ended == nil {
			t.Errorf("%s: the session does not know", what)
		}
		receive(t, "Done", s.Done())
	}
	f.wantKeys("d", 0)
}

func TestCloseRemovesTheNodesAtOnce(t *testing.T) {
	f := start(t)
	s, other := f.open(time.Minute), f.open(time.Minute)
	f.create(s, "d", "0")
	must(t, s.Abandon(within(t), "e", "0")) // leaves a fence
	n := f.create(other, "d", "0")
	wait := waiting(within(t), s, n)
	must(t, s.Close(within(t)))
	receive(t, "Done", s.Done())
	wantIs(t, s.Err(), driver.ErrClosed)
	wantIs(t, receive(t, "the wait", wait), driver.ErrClosed)
	f.wantKeys("d", 1)
	f.wantKeys(".fence", 0)
	if f.sessionInfo(s.id) != nil {
		t.Error("the session is still there")
	}
	_, err := s.Create(within(t), "d", "1", nil)
	wantIs(t, err, driver.ErrClosed)
}

// What Close could not do within its ctx goes on in the background.
func TestCloseWithAnEndedContext(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	f.create(s, "d", "0")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantIs(t, s.Close(ctx), context.Canceled)
	receive(t, "Done", s.Done())
	eventually(t, "the session is destroyed", func() bool { return f.sessionInfo(s.id) == nil })
	f.wantKeys("d", 0)
}

// The connection is closed right after: it does not forget the sessions that it
// still has to end.
func TestConnCloseFinishesWhatSessionsLeft(t *testing.T) {
	f := start(t)
	left, open := f.open(time.Minute), f.open(time.Minute)
	f.create(left, "d", "0")
	f.create(open, "d", "0")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantIs(t, left.Close(ctx), context.Canceled)
	must(t, f.conn.Close())
	must(t, f.conn.Close())
	wantIs(t, open.Err(), driver.ErrClosed)
	if n := len(f.sessionsIn()); n > 0 {
		t.Errorf("%d sessions are left", n)
	}
	f.wantKeys("d", 0)
	_, err := f.OpenSession(within(t), time.Minute)
	wantIs(t, err, driver.ErrClosed)
	_, err = f.List(within(t), "d")
	wantIs(t, err, driver.ErrClosed)
	eventually(t, "no connection is left", func() bool { return f.tap.state().conns == 0 })
}

// A session that nobody was told of is found by its name and ended, also if it
// comes to be later.
func TestReplyOfOpenLost(t *testing.T) {
	f := start(t)
	f.tap.loseReply("session create")
	_, err := f.OpenSession(within(t), time.Minute)
	wantIs(t, err, driver.ErrUncertain)
	eventually(t, "no session is left", func() bool { return len(f.sessionsIn()) == 0 })

	h := hold("session create", f.tap)
	ctx, cancel := context.WithCancel(within(t))
	go func() {
		<-h.caught
		cancel()
	}()
	searched := f.tap.during(func() {
		_, err = f.OpenSession(ctx, time.Minute)
		wantIs(t, err, driver.ErrUncertain, context.Canceled)
		eventually(t, "it was looked for", func() bool {
			f.tap.mu.Lock()
			defer f.tap.mu.Unlock()
			return f.tap.count["session list"] > 0
		})
	})
	if searched["session destroy"] > 0 {
		t.Error("a session was destroyed that is not there yet")
	}
	h.free()
	receive(t, "the late request's answer", h.landed)
	eventually(t, "no session is left", func() bool { return len(f.sessionsIn()) == 0 })
}

// However many openings fail, one search looks for all that they may have left.
func TestManyRepliesOfOpenLost(t *testing.T) {
	f := start(t)
	search := hold("session list", f.tap)
	const many = 20
	counted := f.tap.during(func() {
		for range many {
			f.tap.loseReply("session create")
			_, err := f.OpenSession(within(t), time.Minute)
			wantIs(t, err, driver.ErrUncertain)
		}
		receive(t, "a search", search.caught)
	})
	if n := counted["session list"]; n > many/4 { // an attempt that is held ends some time
		t.Errorf("%d searches for what %d openings have left", n, many)
	}
	search.free()
	eventually(t, "no session is left", func() bool { return len(f.sessionsIn()) == 0 })
}

func TestInvalidArguments(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	elsewhere, nameless := n, n
	elsewhere.Dir = "e"
	nameless.Key = f.dir("d") + "readme"
	counted := f.tap.during(func() {
		for what, err := range map[string]error{
			"no nodes":           second(s.WaitAny(within(t), nil)),
			"two directories":    second(s.WaitAny(within(t), []driver.Node{n, elsewhere})),
			"wrong directory":    s.WaitDelete(within(t), elsewhere),
			"update elsewhere":   second(s.Update(within(t), elsewhere, nil)),
			"update no node":     second(s.Update(within(t), nameless, nil)),
			"delete elsewhere":   s.Delete(within(t), elsewhere),
			"create too long":    second(s.Create(within(t), "d", "1", make([]byte, driver.MaxData+1))),
			"update to too long": second(s.Update(within(t), n, make([]byte, driver.MaxData+1))),
		} {
			wantIs(t, err, driver.ErrInvalid)
			if err.Error() == "" {
				t.Errorf("%s: no message", what)
			}
		}
	})
	wantSent(t, "invalid arguments", counted, sent{})
}

func second[T any](_ T, err error) error { return err }
