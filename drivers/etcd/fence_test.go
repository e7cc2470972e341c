package etcd

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
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
	f.saw(5) // moved: that Abandon can do nothing any more
	wantPosition(t, f, 5, false)
	f.saw(3) // a reply that was overtaken
	wantPosition(t, f, 5, false)

	f.pending(5)
	wantPosition(t, f, 5, true)
	f.saw(8)
	wantPosition(t, f, 8, false)

	f.pending(8)
	f.saw(0) // somebody has deleted the key: requests that ask for 0 would be let in
	wantPosition(t, f, 0, true)
	f.saw(12)
	wantPosition(t, f, 12, false)

	f.pending(12)
	f.saw(0) // a late reply: it is deleted, another call has made it again, at 12
	wantPosition(t, f, 0, true)
	f.saw(12)
	wantPosition(t, f, 12, true)
	f.saw(15)
	wantPosition(t, f, 15, false)

	f.wentBack(12, 8) // of a request from before the last move
	wantPosition(t, f, 15, false)
	f.pending(15)
	f.wentBack(15, 8) // the store was restored
	wantPosition(t, f, 8, true)
	f.raised(9)
	wantPosition(t, f, 9, false)
	f.pending(15) // a reply to a request of before that was given up
	wantPosition(t, f, 9, true)
	f.raised(10)
	wantPosition(t, f, 10, false)

	f.pending(15)
	f.saw(0) // in the backup there was no fence yet
	f.raised(3)
	wantPosition(t, f, 3, false)
	f.saw(7)
	f.pending(7)
	f.raised(5) // overtaken
	wantPosition(t, f, 7, true)

	f.saw(9) // where another call has moved it, whose own reply is late
	f.pending(9)
	f.raised(9)
	wantPosition(t, f, 9, true)
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
	all := func(do func(id string) error, want ...error) {
		var working sync.WaitGroup
		for i := range slots {
			working.Go(func() {
				err := do(fmt.Sprint(i))
				if len(want) == 0 && err != nil {
					t.Errorf("slot %d: %v", i, err)
				}
				if len(want) > 0 {
					wantIs(t, err, want...)
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
		_, err := s.Create(ctx, "d", id, nil)
		return err
	}, driver.ErrUncertain)
	f.tap.intercept(nil)
	sent := f.tap.during(func() {
		all(func(id string) error { return s.Abandon(within(t), "d", id) })
	})
	// Two for each, and some that were sent together, and once more by themselves.
	if sent["Txn"] > 4*slots {
		t.Errorf("%d transactions for %d creates that were given up; want four for each at the most", sent["Txn"], slots)
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
