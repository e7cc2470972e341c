package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/status"

	"github.com/coordkit/coordkit/coord/driver"
)

func wantPosition(t *testing.T, f *fence, stood int64, move bool) {
	t.Helper()
	if gotStood, gotMove := f.position(); gotStood != stood || gotMove != move {
		t.Errorf("the fence stands at %d, to be moved: %v; want %d, %v", gotStood, gotMove, stood, move)
	}
}

func TestFence(t *testing.T) {
	f := newFence()
	wantPosition(t, f, 0, false)

	f.pending(0) // an Abandon whose reply was lost asks for position 0
	wantPosition(t, f, 0, true)
	f.found(0, 5, true) // moved: that Abandon can do nothing any more
	wantPosition(t, f, 5, false)
	f.found(0, 3, true) // a reply that was overtaken
	wantPosition(t, f, 5, false)

	f.pending(5)
	wantPosition(t, f, 5, true)
	f.found(5, 8, true)
	wantPosition(t, f, 8, false)

	f.pending(8)
	f.found(8, 0, false) // somebody has deleted the key: requests that ask for 0 would be let in
	wantPosition(t, f, 0, true)
	f.found(0, 12, true)
	wantPosition(t, f, 12, false)

	f.pending(12)
	f.found(8, 0, false) // a late reply: it is deleted, another call has made it again, at 12
	wantPosition(t, f, 12, true)
	f.raised(12) // and the reply to that other call
	wantPosition(t, f, 12, true)
	f.found(12, 15, true)
	wantPosition(t, f, 15, false)

	f.found(12, 8, true) // of a request from before the last move
	wantPosition(t, f, 15, false)
	f.pending(15)
	f.found(15, 8, true) // the store was restored
	wantPosition(t, f, 8, true)
	f.raised(9)
	wantPosition(t, f, 9, false)
	f.pending(15) // a reply to a request of before that was given up
	wantPosition(t, f, 9, true)
	f.raised(10)
	wantPosition(t, f, 10, false)

	f.pending(15)
	f.found(10, 0, false) // in the backup there was no fence yet
	f.raised(3)
	wantPosition(t, f, 3, false)
	f.found(3, 7, true)
	f.pending(7)
	f.raised(5) // overtaken
	wantPosition(t, f, 7, true)

	f.found(7, 9, true) // where another call has moved it, whose own reply is late
	f.pending(9)
	f.raised(9)
	wantPosition(t, f, 9, true)

	f.found(9, 11, false) // somebody has written over it
	wantPosition(t, f, 11, true)
	f.raised(12)
	wantPosition(t, f, 12, false)
}

// A fence that somebody has written over is not bound to the lease, and outlives it.
func TestFenceWrittenOver(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	must(t, s.Abandon(within(t), "d", "x"))
	key := f.keyspace.fence(s.id)
	_, err := f.admin.Put(within(t), key, "")
	must(t, err)
	must(t, s.Abandon(within(t), "d", "x")) // binds it again
	if resp, err := f.admin.Get(within(t), key); err != nil || resp.Count != 1 || resp.Kvs[0].Lease != s.id {
		t.Errorf("the fence is %+v, %v; want it to be the session's", resp, err)
	}
	_, err = f.admin.Put(within(t), key, "")
	must(t, err)
	_, err = f.admin.Revoke(within(t), clientv3.LeaseID(s.id))
	must(t, err)
	wantIs(t, s.Abandon(within(t), "d", "x"), driver.ErrSessionLost)
	_, err = f.admin.Delete(within(t), key)
	must(t, err)
}

// Many creates at a time get no answer: one move of the fence is enough for all, and
// an Abandon that finds it moved asks once more.
func TestManyAbandonsShareAMove(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	const slots = 40
	held := make(chan any, slots)
	f.tap.intercept(func(c call) error {
		if !c.changes() {
			return c.pass(c.ctx)
		}
		held <- c.req
		<-c.ctx.Done()
		return status.FromContextError(c.ctx.Err()).Err()
	})
	all := func(do func(id string) error) {
		var working sync.WaitGroup
		for i := range slots {
			working.Go(func() {
				if err := do(fmt.Sprint(i)); err != nil {
					t.Errorf("slot %d: %v", i, err)
				}
			})
		}
		working.Wait()
	}
	ctx, cancel := context.WithCancel(within(t))
	late := make(chan *pb.TxnRequest, slots)
	go func() {
		defer cancel()
		for range slots {
			late <- (<-held).(*pb.TxnRequest)
		}
	}()
	all(func(id string) error {
		if _, err := s.Create(ctx, "d", id, nil); !errors.Is(err, driver.ErrUncertain) {
			return fmt.Errorf("create: %v; want it to be uncertain", err)
		}
		return nil
	})
	var sent atomic.Int64
	f.tap.intercept(func(c call) error {
		sent.Add(1)
		return c.pass(c.ctx)
	})
	all(func(id string) error { return s.Abandon(within(t), "d", id) })
	f.tap.intercept(nil)
	if n := sent.Load(); n > 2*slots {
		t.Errorf("%d requests for %d creates that were given up; want two for each at the most", n, slots)
	}
	for range slots {
		resp, err := pb.NewKVClient(f.admin.ActiveConnection()).Txn(within(t), <-late)
		must(t, err)
		if resp.Succeeded {
			t.Error("a late create was carried out")
		}
	}
	f.wantKeys("d", 0)
}
