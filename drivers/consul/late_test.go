package consul

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/drivertest"
)

// abort makes a call whose transaction is held back, and whose caller then goes
// away.
func (f *fixture) abort(do func(ctx context.Context) error) *holding {
	f.t.Helper()
	h := hold("write", f.tap)
	ctx, cancel := context.WithCancel(within(f.t))
	go func() {
		<-h.caught
		cancel()
	}()
	wantIs(f.t, do(ctx), driver.ErrUncertain, context.Canceled)
	return h
}

// landed lets a request land. Whether a deletion has changed anything is not said
// by the status of the answer.
func landed(t *testing.T, h *holding) {
	t.Helper()
	h.free()
	receive(t, "the late request's answer", h.landed)
}

// wantRefused lets a request land and fails if it has changed anything.
func wantRefused(t *testing.T, h *holding) {
	t.Helper()
	landed(t, h)
	if h.status != http.StatusConflict {
		t.Fatalf("the late request was carried out: status %d", h.status)
	}
}

func (f *fixture) wantListed(s driver.Session, want ...driver.Node) {
	f.t.Helper()
	nodes, err := s.List(within(f.t), "d")
	must(f.t, err)
	if !slices.EqualFunc(nodes, want, func(n, m driver.Node) bool {
		return n.Same(m) && string(n.Data) == string(m.Data)
	}) {
		f.t.Errorf("listed %+v; want %+v", nodes, want)
	}
}

func create(s driver.Session) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := s.Create(ctx, "d", "0", []byte("late"))
		return err
	}
}

func TestReplyLost(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	f.tap.loseReply("write")
	wantIs(t, create(s)(within(t)), driver.ErrUncertain)
	f.wantKeys("d", 1)
	n, all, err := s.CreateList(within(t), "d", "0", []byte("again"))
	must(t, err)
	if string(n.Data) != "late" || len(all) != 1 || !all[0].Same(n) {
		t.Errorf("made %+v and listed %+v", n, all)
	}
	f.wantListed(s, n)

	f.tap.loseReply("write")
	_, err = s.Update(within(t), n, []byte("new"))
	wantIs(t, err, driver.ErrUncertain)
	n, err = s.Update(within(t), n, []byte("new"))
	must(t, err)
	f.wantListed(s, n)

	f.tap.loseReply("write")
	wantIs(t, s.Delete(within(t), n), driver.ErrUncertain)
	must(t, s.Delete(within(t), n))
	f.wantKeys("d", 0)
}

func TestLateCreateAfterAbandon(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	h := f.abort(create(s))
	must(t, s.Abandon(within(t), "d", "0"))
	n := f.create(s, "d", "1")
	wantRefused(t, h)
	f.wantListed(s, n)
}

// Without Abandon, Create again is the other way to go on. The node may be gone
// again when the first request lands.
func TestLateCreateAfterCreate(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	h := f.abort(create(s))
	n := f.create(s, "d", "0")
	wantRefused(t, h)
	f.wantListed(s, n)

	h = f.abort(func(ctx context.Context) error {
		_, _, err := s.CreateList(ctx, "d", "1", nil)
		return err
	})
	must(t, s.Delete(within(t), f.create(s, "d", "1")))
	wantRefused(t, h)
	f.wantListed(s, n)
}

// Of two requests the first lands and the second does so late, when what the
// first has made was found and deleted.
func TestSecondOfTwoLateCreates(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	f.tap.loseReply("write")
	wantIs(t, create(s)(within(t)), driver.ErrUncertain)
	// The next one moves the fence first. That is what is held back, and
	// neither does any harm later.
	h := f.abort(create(s))
	n := f.create(s, "d", "0")
	if string(n.Data) != "late" {
		t.Errorf("made anew: %+v", n)
	}
	must(t, s.Delete(within(t), n))
	wantRefused(t, h)
	f.wantKeys("d", 0)
}

func TestAbandonRemovesWhatWasCreated(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	f.tap.loseReply("write")
	wantIs(t, create(s)(within(t)), driver.ErrUncertain)
	other := f.create(s, "d", "1")
	f.wantKeys("d", 2)

	f.tap.loseReply("write")
	wantIs(t, s.Abandon(within(t), "d", "0"), driver.ErrUncertain)
	must(t, s.Abandon(within(t), "d", "0"))
	must(t, s.Abandon(within(t), "d", "never"))
	f.wantListed(s, other)
}

// An Abandon whose caller gave up arrives after the next Create of the slot.
func TestLateAbandonSparesTheNextNode(t *testing.T) {
	for _, before := range []int{0, 1} { // Abandons that have succeeded before
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			f := start(t)
			s := f.open(time.Minute)
			for range before {
				must(t, s.Abandon(within(t), "d", "0"))
			}
			h := f.abort(func(ctx context.Context) error { return s.Abandon(ctx, "d", "0") })
			n := f.create(s, "d", "0")
			wantRefused(t, h)
			must(t, s.Err())
			f.wantListed(s, n)
		})
	}
}

// Neither a late Delete nor a late Update touches a later node.
func TestLateChangesSpareTheNextNode(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	deletion := f.abort(func(ctx context.Context) error { return s.Delete(ctx, n) })
	update := f.abort(func(ctx context.Context) error { _, err := s.Update(ctx, n, []byte("stale")); return err })
	must(t, s.Delete(within(t), n))
	next := f.create(s, "d", "0")
	landed(t, deletion)
	wantRefused(t, update)
	f.wantListed(s, next)
}

// A node that was updated by somebody else is still the node.
func TestChangesAfterAnUpdateElsewhere(t *testing.T) {
	f := start(t)
	s, other := f.open(time.Minute), f.open(time.Minute)
	n := f.create(s, "d", "0")
	if _, err := other.Update(within(t), n, []byte("theirs")); err != nil {
		t.Fatal(err)
	}
	m, err := s.Update(within(t), n, []byte("mine"))
	must(t, err)
	f.wantListed(s, m)
	if _, err := other.Update(within(t), n, []byte("theirs again")); err != nil {
		t.Fatal(err)
	}
	must(t, s.Delete(within(t), n))
	f.wantKeys("d", 0)
	_, err = s.Update(within(t), n, []byte("too late"))
	wantIs(t, err, driver.ErrGone)
	f.wantKeys("d", 0)
}

// What somebody else has set free is no node any more: it is in no list, cannot
// be updated, and waits for it end. It can be deleted.
func TestNodeSetFreeByAnOperator(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	wait := waiting(within(t), s, n)
	f.eventuallyWatched(1)
	kv, _, err := f.admin.KV().Get(n.Key, nil)
	must(t, err)
	if _, _, err := f.admin.KV().Release(kv, nil); err != nil {
		t.Fatal(err)
	}
	must(t, receive(t, "the wait", wait))
	f.wantListed(s)
	_, err = s.Update(within(t), n, []byte("new"))
	wantIs(t, err, driver.ErrGone)
	if _, err := s.Create(within(t), "d", "0", nil); err == nil {
		t.Error("took somebody else's key for the node")
	}
	must(t, s.Delete(within(t), n))
	f.wantKeys("d", 0)
}

// With the fence's key gone, requests from the session's beginning would find
// it where they expect it.
func TestFenceDeletedByAnOperator(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	h := f.abort(create(s))
	must(t, s.Abandon(within(t), "d", "0"))
	f.remove(f.fence(s.ID()))
	f.create(s, "d", "1") // finds out
	wantRefused(t, h)
	f.wantKeys("d", 1)
	must(t, s.Abandon(within(t), "d", "1"))
	f.wantKeys("d", 0)
}

func TestLateCreateAfterTheSessionsEnd(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	h := f.abort(create(s))
	must(t, s.Close(within(t)))
	wantRefused(t, h)
	f.wantKeys("d", 0)
}

// A call in flight ends with the session.
func TestSessionsEndEndsItsCalls(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	h := hold("write", f.tap)
	defer h.free()
	done := make(chan error, 1)
	go func() { done <- create(s)(within(t)) }()
	receive(t, "the request", h.caught)
	must(t, s.Close(within(t)))
	wantIs(t, receive(t, "the end of the call", done), driver.ErrClosed)
}

func TestConcurrentCreatesAndAbandons(t *testing.T) {
	f := start(t)
	slots := drivertest.CreateAndAbandon(t, f.open(time.Minute), 1)
	f.wantKeys("d", slots)
}
