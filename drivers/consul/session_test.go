package consul

import (
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
		len(info.NodeChecks)+len(info.ServiceChecks)+len(info.Checks) > 0 || !strings.HasPrefix(info.Name, string(f.keyspace)) {
		t.Errorf("the session is %+v", info)
	}
	if s.TTL() != 90*time.Second {
		t.Errorf("TTL is %v", s.TTL())
	}
}

func TestRangeOfTTL(t *testing.T) {
	f := startOn(t, standard.Get(t))
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
	if got := grantedTTL("some other words"); !strings.Contains(got, "10s") || !strings.Contains(got, "24h") {
		t.Errorf("without the server's words the range is %q", got)
	}
}

func TestSessionDestroyedByAnOperator(t *testing.T) {
	f := start(t)
	s, other := f.open(shortTTL), f.open(time.Minute)
	n := f.create(other, "d", "0")
	f.create(s, "d", "0")
	wait := waiting(within(t), s, n)
	f.destroySession(s.ID())
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
	})
	wantSent(t, "an ended session", counted, sent{})
	wantIs(t, s.Err(), driver.ErrSessionLost) // only the first reason counts
}

// A transaction for a session that is gone is how it may learn of that first.
func TestTransactionsLearnOfTheLoss(t *testing.T) {
	f := start(t)
	for what, do := range map[string]func(s *session) error{
		"create":  func(s *session) error { _, err := s.Create(within(t), "d", "0", nil); return err },
		"abandon": func(s *session) error { return s.Abandon(within(t), "d", "0") },
	} {
		s := f.open(time.Minute)
		f.destroySession(s.ID())
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
	if f.sessionInfo(s.ID()) != nil {
		t.Error("the session is still there")
	}
	_, err := s.Create(within(t), "d", "1", nil)
	wantIs(t, err, driver.ErrClosed)
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
