package etcd

import (
	"context"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// S1: behind a dead link the session ends while its nodes are still there.
func TestDoneClosesBeforeTheNodesVanish(t *testing.T) {
	t.Parallel()
	f, proxy := throughProxy(t)
	s := f.open(5 * time.Second) // the look at the store fits into the lease's margin
	n := f.create(s, "d", "0")
	wait := waiting(within(t), s, n)
	deleted := f.admin.Watch(within(t), n.Key, clientv3.WithFilterPut(), clientv3.WithCreatedNotify())
	receive(t, "the watch", deleted)
	proxy.Freeze(netfault.Both)
	receive(t, "Done", s.Done())
	f.wantKeys("d", 1)
	wantIs(t, s.Err(), driver.ErrSessionLost)
	wantIs(t, receive(t, "the wait", wait), driver.ErrSessionLost)
	_, err := s.Create(within(t), "d", "1", nil)
	wantIs(t, err, driver.ErrSessionLost)
	receive(t, "the deletion", deleted)
	must(t, proxy.Heal())
	wantIs(t, s.Err(), driver.ErrSessionLost)
}

// S3: connections that break do not end a session.
func TestSessionOutlivesConnections(t *testing.T) {
	t.Parallel()
	f, proxy := throughProxy(t)
	s := f.open(5 * time.Second)
	f.create(s, "d", "0")
	for range 5 {
		proxy.DropConnections()
		f.eventuallyRenewed(s, 1)
	}
	must(t, s.Err())
	f.wantKeys("d", 1)
}

func TestWaitOutlivesConnections(t *testing.T) {
	t.Parallel()
	f, proxy := throughProxy(t)
	s := f.open(time.Minute)
	first, second, third := f.create(s, "d", "0"), f.create(s, "d", "1"), f.create(s, "d", "2")
	wait1, wait2, wait3 := waiting(within(t), s, first), waiting(within(t), s, second), waiting(within(t), s, third)
	f.eventuallyOpen("d", 1)

	f.breakWatch(proxy.DropConnections)
	f.eventuallyOpen("d", 1)
	_, err := f.admin.Delete(within(t), first.Key)
	must(t, err)
	must(t, receive(t, "the wait", wait1))

	// Deleted, and its history compacted, while nobody could tell.
	f.breakWatch(proxy.Cut)
	resp, err := f.admin.Delete(within(t), second.Key)
	must(t, err)
	_, err = f.admin.Compact(within(t), resp.Header.Revision, clientv3.WithCompactPhysical())
	must(t, err)
	pendingStill(t, wait2)
	must(t, proxy.Heal())
	must(t, receive(t, "the wait", wait2))

	f.eventuallyOpen("d", 1)
	pendingStill(t, wait3)
	_, err = f.admin.Delete(within(t), third.Key)
	must(t, err)
	must(t, receive(t, "the wait", wait3))
}

// breakWatch does something that breaks the watch stream, and waits until the
// next one is being opened.
func (f *fixture) breakWatch(do func()) {
	f.t.Helper()
	before := f.tap.sent("Watch")
	do()
	eventually(f.t, "the watch breaks", func() bool { return f.tap.sent("Watch") > before })
}

func TestCompactionWhileWaiting(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	wait := waiting(within(t), s, n)
	f.eventuallyOpen("d", 1)
	for range 10 {
		resp, err := f.admin.Put(within(t), f.keys.prefix("d")+"noise", "")
		must(t, err)
		_, err = f.admin.Compact(within(t), resp.Header.Revision, clientv3.WithCompactPhysical())
		must(t, err)
	}
	pendingStill(t, wait)
	_, err := f.admin.Delete(within(t), f.keys.prefix("d")+"noise")
	must(t, err)
	must(t, s.Delete(within(t), n))
	must(t, receive(t, "the wait", wait))
}

// A frozen link that nothing else would notice: the client has no keepalive.
func TestWaitBehindAFrozenLink(t *testing.T) {
	t.Parallel()
	f, proxy := throughProxy(t)
	f.hasty()
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	wait := waiting(within(t), s, n)
	f.eventuallyOpen("d", 1)
	f.breakWatch(func() { proxy.Blackhole(netfault.Both) })
	_, err := f.admin.Delete(within(t), n.Key)
	must(t, err)
	pendingStill(t, wait)
	must(t, proxy.Heal())
	must(t, receive(t, "the wait", wait))
}

// lossy drops every deletion that comes over a watch.
type lossy struct{ grpc.ClientStream }

func (l lossy) RecvMsg(m any) error {
	err := l.ClientStream.RecvMsg(m)
	if r, ok := m.(*pb.WatchResponse); ok {
		r.Events = nil
	}
	return err
}

// Servers have lost deletions at a compaction. The wait is checked now and
// then.
func TestLostDeletion(t *testing.T) {
	f := startOn(t, single.Get(t), targetOf(t, single.Get(t)), grpc.WithChainStreamInterceptor(
		func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			s, err := open(ctx, desc, cc, method, opts...)
			return lossy{s}, err
		}))
	f.check = 100 * time.Millisecond
	s := f.open(time.Minute)
	n, other := f.create(s, "d", "0"), f.create(s, "d", "1")
	wait, still := waiting(within(t), s, n), waiting(within(t), s, other)
	f.eventuallyOpen("d", 1)
	must(t, s.Delete(within(t), n))
	must(t, receive(t, "the wait", wait))
	pendingStill(t, still)
	must(t, s.Delete(within(t), other))
	must(t, receive(t, "the other wait", still))
}
