package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coordkit/coordkit/coord/driver"
)

// loseReply has the next change applied and its reply lost.
func (f *fixture) loseReply() {
	f.tap.intercept(func(c call) error {
		err := c.pass(c.ctx)
		if c.changes() {
			f.tap.intercept(nil)
			return status.Error(codes.Unavailable, "reply lost by the test")
		}
		return err
	})
}

// landing has a request arrive that was held back, and reports whether the store
// has done anything.
type landing func() (done bool, err error)

// hold holds the next change back: its caller gets no answer, and it arrives when
// land is called.
func (f *fixture) hold() (held <-chan struct{}, land landing) {
	var req any
	hold := make(chan struct{})
	f.tap.intercept(func(c call) error {
		if !c.changes() {
			return c.pass(c.ctx)
		}
		f.tap.intercept(nil)
		req = c.req
		close(hold)
		<-c.ctx.Done()
		return status.FromContextError(c.ctx.Err()).Err()
	})
	return hold, func() (bool, error) {
		<-hold
		kv := pb.NewKVClient(f.admin.ActiveConnection())
		if deletion, ok := req.(*pb.DeleteRangeRequest); ok {
			resp, err := kv.DeleteRange(within(f.t), deletion)
			return resp.GetDeleted() > 0, err
		}
		resp, err := kv.Txn(within(f.t), req.(*pb.TxnRequest))
		return resp.GetSucceeded(), err
	}
}

// abort makes a call whose change is held back, and whose caller then goes
// away.
func (f *fixture) abort(do func(ctx context.Context) error) landing {
	f.t.Helper()
	held, land := f.hold()
	ctx, cancel := context.WithCancelCause(within(f.t))
	go func() {
		<-held
		// Of what went wrong elsewhere, nothing follows for this call.
		cancel(errors.Join(driver.ErrUnavailable, driver.ErrDenied, rpctypes.ErrLeaseNotFound, rpctypes.ErrNoSpace))
	}()
	wantIs(f.t, do(ctx), driver.ErrUncertain, context.Canceled)
	return land
}

// wantRefused fails if a late request has changed anything.
func wantRefused(t *testing.T, land landing) {
	t.Helper()
	done, err := land()
	must(t, err)
	if done {
		t.Fatal("the late request was carried out")
	}
}

func TestLateCreateAfterAbandon(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	land := f.abort(func(ctx context.Context) error {
		_, err := s.Create(ctx, "d", "0", nil)
		return err
	})
	must(t, s.Abandon(within(t), "d", "0"))
	wantRefused(t, land)
	f.wantKeys("d", 0)

	n := f.create(s, "d", "0")
	wantRefused(t, land) // and once more, as a network may
	nodes, err := s.List(within(t), "d")
	must(t, err)
	if len(nodes) != 1 || !nodes[0].Same(n) {
		t.Errorf("listed %+v; want %+v", nodes, n)
	}
}

// Without Abandon, Create again is the other way to go on.
func TestLateCreateAfterCreate(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	land := f.abort(func(ctx context.Context) error {
		_, _, err := s.CreateList(ctx, "d", "0", []byte("late"))
		return err
	})
	n := f.create(s, "d", "0")
	wantRefused(t, land)
	nodes, err := s.List(within(t), "d")
	must(t, err)
	if len(nodes) != 1 || !nodes[0].Same(n) || string(nodes[0].Data) != "0" {
		t.Errorf("listed %+v; want %+v", nodes, n)
	}
	must(t, s.Delete(within(t), n))
	wantRefused(t, land) // or it would make a node that nobody knows of
	f.wantKeys("d", 0)
}

func TestLateUpdateAfterUpdate(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	land := f.abort(func(ctx context.Context) error {
		_, err := s.Update(ctx, n, []byte("late"))
		return err
	})
	_, err := s.Update(within(t), n, []byte("last"))
	must(t, err)
	wantRefused(t, land)
	nodes, err := s.List(within(t), "d")
	must(t, err)
	if len(nodes) != 1 || !nodes[0].Same(n) || string(nodes[0].Data) != "last" {
		t.Errorf("listed %+v", nodes)
	}
	must(t, s.Delete(within(t), n))
	_, err = s.Update(within(t), n, nil)
	wantIs(t, err, driver.ErrGone)
}

func TestAbandonRemovesWhatWasCreated(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	f.loseReply()
	_, err := s.Create(within(t), "d", "0", nil)
	wantIs(t, err, driver.ErrUncertain)
	other := f.create(s, "d", "1")
	f.wantKeys("d", 2)

	f.loseReply()
	wantIs(t, s.Abandon(within(t), "d", "0"), driver.ErrUncertain)
	must(t, s.Abandon(within(t), "d", "0"))
	must(t, s.Abandon(within(t), "d", "never"))
	nodes, err := s.List(within(t), "d")
	must(t, err)
	if len(nodes) != 1 || !nodes[0].Same(other) {
		t.Errorf("left are %+v; want %+v", nodes, other)
	}
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
			land := f.abort(func(ctx context.Context) error { return s.Abandon(ctx, "d", "0") })
			n := f.create(s, "d", "0")
			wantRefused(t, land)
			must(t, s.Err())
			nodes, err := s.List(within(t), "d")
			must(t, err)
			if len(nodes) != 1 || !nodes[0].Same(n) {
				t.Errorf("listed %+v; want %+v", nodes, n)
			}
		})
	}
}

// With the fence's key gone, requests from the session's beginning would find
// it where they expect it.
func TestFenceDeletedByAnOperator(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	land := f.abort(func(ctx context.Context) error {
		_, err := s.Create(ctx, "d", "0", nil)
		return err
	})
	must(t, s.Abandon(within(t), "d", "0"))
	_, err := f.admin.Delete(within(t), f.keyspace.fence(s.id))
	must(t, err)
	f.create(s, "d", "1") // finds out
	wantRefused(t, land)
	f.wantKeys("d", 1)
	must(t, s.Abandon(within(t), "d", "1"))
	f.wantKeys("d", 0)
}

// In a store that was restored from a backup the fence stands where it stood then.
func TestFenceWentBack(t *testing.T) {
	for name, change := range map[string]func(*fixture, *session, driver.Node) error{
		"create": func(f *fixture, s *session, _ driver.Node) error {
			_, err := s.Create(within(f.t), "d", "1", nil)
			return err
		},
		"update": func(f *fixture, s *session, n driver.Node) error {
			_, err := s.Update(within(f.t), n, []byte("new"))
			return err
		},
		"abandon": func(f *fixture, s *session, n driver.Node) error { return s.Abandon(within(f.t), "d", "0") },
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			s := f.open(time.Minute)
			n := f.create(s, "d", "0")
			must(t, s.Abandon(within(t), "d", "1"))
			s.fence.raised(1 << 40) // of the time after the backup
			s.fence.pending(1 << 40)
			must(t, change(f, s, n))
			if stood, move := s.fence.position(); stood == 1<<40 || move {
				t.Errorf("the fence stands at %d, to be moved: %v", stood, move)
			}
		})
	}
}

func TestLateCreateAfterTheSessionsEnd(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	land := f.abort(func(ctx context.Context) error {
		_, err := s.Create(ctx, "d", "0", nil)
		return err
	})
	must(t, s.Close(within(t)))
	if _, err := land(); err == nil {
		t.Error("the late request was carried out")
	}
	f.wantKeys("d", 0)
}

// A call in flight ends with the session.
func TestSessionsEndEndsItsCalls(t *testing.T) {
	timing := defaultTiming
	timing.attempt = 10 * patience // nothing else is to end the call
	f := startOn(t, single.Get(t).ClientConfig(), single.Get(t).ClientConfig(), timing)
	s := f.open(10 * patience)
	held, _ := f.hold()
	done := make(chan error, 1)
	go func() {
		_, err := s.Create(within(t), "d", "0", nil)
		done <- err
	}()
	receive(t, "the request", held)
	must(t, s.Close(within(t)))
	wantIs(t, receive(t, "the end of the call", done), driver.ErrClosed)
}

// Slots of one session are created and abandoned all at once, as if each had a request
// without an answer: each Abandon moves the fence under the others' feet.
func TestConcurrentCreatesAndAbandons(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	const slots, rounds = 8, 10
	var wg sync.WaitGroup
	for slot := range slots {
		wg.Go(func() {
			id := fmt.Sprint(slot)
			for round := range rounds {
				n, all, err := s.CreateList(within(t), "d", id, []byte(fmt.Sprint(round)))
				if err != nil {
					t.Errorf("create %s: %v", id, err)
					return
				}
				if !slices.ContainsFunc(all, n.Same) || string(n.Data) != fmt.Sprint(round) {
					t.Errorf("round %d of %s made %+v and listed %+v", round, id, n, all)
				}
				if round == rounds-1 {
					return
				}
				stood, _ := s.fence.position()
				s.fence.pending(stood)
				if err := s.Abandon(within(t), "d", id); err != nil {
					t.Errorf("abandon %s: %v", id, err)
				}
			}
		})
	}
	wg.Wait()
	f.wantKeys("d", slots)
}

// A deletion that is a transaction, and comes late, finds the node that it was asked
// for and none that Create has returned since.
func TestLateTransactionThatDeletes(t *testing.T) {
	f := start(t)
	f.conn.direct = false
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	var late func()
	f.tap.intercept(func(c call) error {
		r, ok := c.req.(*pb.TxnRequest)
		if ok && late == nil && len(r.Success) == 1 && r.Success[0].GetRequestDeleteRange() != nil {
			late = func() { must(t, c.pass(within(t))) }
			return status.Error(codes.Unavailable, "the reply is lost")
		}
		return c.pass(c.ctx)
	})
	wantIs(t, s.Delete(within(t), n), driver.ErrUncertain)
	again := f.create(s, "d", "0")
	late()
	nodes, err := s.List(within(t), "d")
	must(t, err)
	if len(nodes) != 1 || !nodes[0].Same(again) {
		t.Errorf("listed %+v; want %+v", nodes, again)
	}
	must(t, s.Delete(within(t), again))
}
