package etcd

import (
	"context"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/status"

	"github.com/coordkit/coordkit/coord/driver"
)

// nthChange has step called instead of the n-th change from now on; all else passes.
// After that nothing is intercepted.
func (f *fixture) nthChange(n int, step func(c call) error) {
	f.tap.intercept(func(c call) error {
		if !c.changes() {
			return c.pass(c.ctx)
		}
		if n--; n > 0 {
			return c.pass(c.ctx)
		}
		f.tap.intercept(nil)
		return step(c)
	})
}

// delayReply keeps the reply to the n-th change from now on back until give is closed;
// given is closed when there is one.
func (f *fixture) delayReply(n int) (given <-chan struct{}, give chan<- struct{}) {
	there, on := make(chan struct{}), make(chan struct{})
	f.nthChange(n, func(c call) error {
		err := c.pass(c.ctx)
		close(there)
		<-on
		return err
	})
	return there, on
}

// An operator deletes the fence. One call is told so, and late; another makes it again,
// and is told so late as well; a third asks for the new one, and is given up. What was
// late does not let that through.
func TestFenceDeletedWhileRepliesAreLate(t *testing.T) {
	for name, goOn := range map[string]func(f *fixture, s *session){
		"abandon": func(f *fixture, s *session) { must(f.t, s.Abandon(within(f.t), "d", "given up")) },
		"create and delete": func(f *fixture, s *session) {
			must(f.t, s.Delete(within(f.t), f.create(s, "d", "given up")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			s := f.open(time.Minute)
			must(t, s.Abandon(within(t), "d", "x")) // the fence stands
			_, err := f.admin.Delete(within(t), f.keyspace.fence(s.id))
			must(t, err)

			told, tell := f.delayReply(1)
			finding := make(chan error, 1)
			go func() {
				_, err := s.Create(within(t), "d", "finds none", nil)
				finding <- err
			}()
			receive(t, "the answer that there is no fence", told)

			made, confirm := f.delayReply(2)
			making := make(chan error, 1)
			go func() { making <- s.Abandon(within(t), "d", "makes it again") }()
			receive(t, "the answer that it stands again", made)

			var late *pb.TxnRequest
			ctx, cancel := context.WithCancel(within(t))
			f.nthChange(2, func(c call) error {
				late = c.req.(*pb.TxnRequest)
				cancel()
				<-c.ctx.Done()
				return status.FromContextError(c.ctx.Err()).Err()
			})
			_, err = s.Create(ctx, "d", "given up", nil)
			wantIs(t, err, driver.ErrUncertain)

			// Both hear of it before either asks again.
			asks, ask := make(chan struct{}), make(chan struct{})
			f.nthChange(1, func(c call) error {
				close(asks)
				<-ask
				return c.pass(c.ctx)
			})
			close(tell)
			receive(t, "the next request of who found none", asks)
			close(confirm)
			must(t, receive(t, "who made it again", making))
			close(ask)
			must(t, receive(t, "who found none", finding))

			goOn(f, s)
			resp, err := pb.NewKVClient(f.admin.ActiveConnection()).Txn(within(t), late)
			must(t, err)
			if resp.Succeeded {
				t.Error("the late create was carried out")
			}
		})
	}
}
