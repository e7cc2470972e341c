package consul

import (
	"context"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
)

// The session ends between the two requests of a Create that has to move the
// fence first.
func TestSessionEndsBetweenTwoSteps(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	f.tap.loseReply("write")
	wantIs(t, create(s)(within(t)), driver.ErrUncertain)
	move, creation := hold("write", f.tap), hold("write", f.tap)
	done := calling(func() error { return create(s)(within(t)) })
	receive(t, "the fence's move", move.caught)
	move.free()
	receive(t, "the node's creation", creation.caught)
	f.destroySession(s.ID())
	creation.free()
	wantIs(t, receive(t, "the call", done), driver.ErrSessionLost)
	receive(t, "Done", s.Done())
	f.wantKeys("d", 0)
}

// calling makes a call and returns its error when it comes.
func calling(call func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	return done
}

// An operator deletes a node and writes or takes its name: that is no node, nor
// the session's, and blocks nobody else. Abandon makes the slot usable again.
func TestNameTakenByAnOperator(t *testing.T) {
	f := start(t)
	s, other := f.open(time.Minute), f.open(time.Minute)
	for what, take := range map[string]func(key string) error{
		"written": func(key string) error {
			_, err := f.admin.KV().Put(&api.KVPair{Key: key}, nil)
			return err
		},
		"held by another session": func(key string) error {
			_, _, err := f.admin.KV().Acquire(&api.KVPair{Key: key, Session: other.ID()}, nil)
			return err
		},
	} {
		n := f.create(s, "d", "0")
		wait := waiting(within(t), other, n)
		v := viewing(within(t), t, f.conn, "d")
		v.shows("the node", n)
		f.remove(n.Key)
		must(t, take(n.Key))
		must(t, receive(t, "the wait", wait))
		v.shows("no node")
		f.wantListed(s)
		_, err := s.Update(within(t), n, []byte("new"))
		wantIs(t, err, driver.ErrGone)
		must(t, s.Delete(within(t), n)) // it is gone, and the key is somebody else's
		f.wantKeys("d", 1)
		if _, err := s.Create(within(t), "d", "0", nil); err == nil || driver.Transient(err) {
			t.Errorf("%s: the error is %v; want one that says whose key it is", what, err)
		}
		must(t, s.Abandon(within(t), "d", "0"))
		next := f.create(s, "d", "0")
		f.wantListed(s, next)
		must(t, s.Delete(within(t), next))
	}
	must(t, s.Err())
}

// The session that an operator has taken the name with ends, and leaves a
// lock-delay: then the name is free again, after a while.
func TestNameWithALockDelay(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	f.remove(n.Key)
	thief, _, err := f.admin.Session().CreateNoChecks(&api.SessionEntry{
		TTL: "1m", Behavior: api.SessionBehaviorDelete, LockDelay: 3 * time.Second}, nil)
	must(t, err)
	_, _, err = f.admin.KV().Acquire(&api.KVPair{Key: n.Key, Session: thief}, nil)
	must(t, err)
	f.destroySession(thief)
	_, err = s.Create(within(t), "d", "0", nil)
	wantIs(t, err, driver.ErrUnavailable)
	must(t, s.Err())
	eventually(t, "the name is free", func() bool {
		_, err := s.Create(within(t), "d", "0", nil)
		if err != nil {
			wantIs(t, err, driver.ErrUnavailable)
		}
		return err == nil
	})
}

// A Delete whose caller has gone lands when the node was updated by somebody
// else: it deletes nothing that the next Delete would not.
func TestLateDeleteAfterAnUpdate(t *testing.T) {
	f := start(t)
	s, other := f.open(time.Minute), f.open(time.Minute)
	n := f.create(s, "d", "0")
	late := f.abort(func(ctx context.Context) error { return s.Delete(ctx, n) })
	m, err := other.Update(within(t), n, []byte("theirs"))
	must(t, err)
	landed(t, late)
	f.wantListed(s, m)
	must(t, s.Delete(within(t), n))
	f.wantListed(s)
}

// An operator deletes a node of one's own: the list that follows takes one read,
// and does not show what an older state would.
func TestListAfterAnOperatorsDeletion(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n, m := f.create(s, "d", "0"), f.create(s, "d", "1")
	wait := waiting(within(t), s, n)
	f.remove(n.Key)
	must(t, receive(t, "the wait", wait))
	wantSent(t, "a list", f.tap.during(func() { f.wantListed(s, m) }), sent{"read": 1})
}
