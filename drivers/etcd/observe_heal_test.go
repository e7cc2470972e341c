package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/testserver"
)

// put writes a node with a client that nothing interferes with, as if its
// session had been on it.
func (f *fixture) put(lease int64, dir, id string) {
	f.t.Helper()
	_, err := f.admin.Put(within(f.t), f.node(dir, lease, id), id, clientv3.WithLease(clientv3.LeaseID(lease)))
	must(f.t, err)
}

// V3
func TestWatchOutlivesConnections(t *testing.T) {
	t.Parallel()
	f, proxy := throughProxy(t, defaultTiming)
	s := f.open(time.Minute)
	first := f.create(s, "d", "0")
	o := observing(t, f.conn, "d")
	o.next("0=0")
	f.breakWatch(proxy.DropConnections)
	f.put(s.id, "d", "1")
	o.next("0=0 1=1")

	// Changed, and the history compacted, while nobody could tell.
	f.breakWatch(proxy.Cut)
	resp, err := f.admin.Delete(within(t), first.Key)
	must(t, err)
	f.put(s.id, "d", "2")
	_, err = f.admin.Compact(within(t), resp.Header.Revision+1, clientv3.WithCompactPhysical())
	must(t, err)
	o.silent()
	must(t, proxy.Heal())
	o.next("1=1 2=2")

	// Broken without any change, and so without any news.
	f.breakWatch(proxy.DropConnections)
	f.put(s.id, "d", "3")
	o.next("1=1 2=2 3=3")
	o.silent()
}

// V3, V4: a link that is frozen and that nothing else would notice.
func TestWatchBehindAFrozenLink(t *testing.T) {
	t.Parallel()
	f, proxy := throughProxy(t, swift())
	s := f.open(time.Minute)
	f.create(s, "d", "0")
	o, canceled := observing(t, f.conn, "d"), observing(t, f.conn, "d")
	o.next("0=0")
	f.breakWatch(func() { proxy.Blackhole(netfault.Both) })
	f.put(s.id, "d", "1")
	canceled.stop()
	canceled.ends(context.Canceled)
	begun := observing(t, f.conn, "d") // while nothing gets through
	o.silent()
	begun.silent()
	must(t, proxy.Heal())
	o.next("0=0 1=1")
	begun.next("0=0 1=1")
}

// slack is a watch stream that a test can stop reading.
type slack struct {
	grpc.ClientStream
	gate      *sync.Mutex
	compacted *atomic.Bool
}

func (s slack) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if r, ok := m.(*pb.WatchResponse); ok && r.CompactRevision != 0 {
		s.compacted.Store(true)
	}
	s.gate.Lock()
	defer s.gate.Unlock()
	return err
}

// V3: the client was so slow that the server has compacted what it still had to
// tell it, and cancels the watch.
func TestWatchThatIsCanceledByACompaction(t *testing.T) {
	var gate sync.Mutex
	var compacted atomic.Bool
	timing := defaultTiming
	timing.feeds.quiet, timing.feeds.answer = 10*patience, 10*patience
	etcd := testserver.StartEtcd(t, testserver.EtcdOptions{})
	config := etcd.ClientConfig()
	config.DialOptions = []grpc.DialOption{grpc.WithChainStreamInterceptor(
		func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			s, err := open(ctx, desc, cc, method, opts...)
			return slack{s, &gate, &compacted}, err
		})}
	f := startOn(t, config, etcd.ClientConfig(), timing)
	// A lease of nobody's, because renewals are a stream as well.
	lease, err := f.admin.Grant(within(t), 600)
	must(t, err)
	id := int64(lease.ID)
	f.put(id, "d", "0")
	o := observingUntil(t.Context(), t, f.conn, "d") // the load may take a slow disk minutes
	o.next("0=0")

	gate.Lock()
	load := bytes.Repeat([]byte("x"), 512<<10)
	var last int64
	for range 200 { // more than the stream and the server take up
		resp, err := f.admin.Put(within(t), f.dir("d").from+"load", string(load))
		must(t, err)
		last = resp.Header.Revision
	}
	f.put(id, "d", "1")
	_, err = f.admin.Compact(within(t), last+1, clientv3.WithCompactPhysical())
	must(t, err)
	f.put(id, "d", "2")
	o.silent()
	gate.Unlock()
	o.comesTo("0=0 1=1 2=2")
	eventually(t, "the watch is canceled for the compaction", compacted.Load)
	f.put(id, "d", "3")
	o.comesTo("0=0 1=1 2=2 3=3")
	_, err = f.admin.Revoke(within(t), lease.ID)
	must(t, err)
	o.comesTo("")
	_, err = f.admin.Delete(within(t), f.dir("d").from+"load")
	must(t, err)
}

// Servers have lost events. What is shown is checked now and then.
func TestWatchThatLosesEvents(t *testing.T) {
	timing := defaultTiming
	timing.feeds.verify, timing.feeds.tick = 100*time.Millisecond, 10*time.Millisecond
	etcd := single.Get(t)
	config := etcd.ClientConfig()
	config.DialOptions = []grpc.DialOption{grpc.WithChainStreamInterceptor(
		func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			s, err := open(ctx, desc, cc, method, opts...)
			return lossy{s}, err
		})}
	f := startOn(t, config, etcd.ClientConfig(), timing)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	o := observing(t, f.conn, "d")
	o.next("0=0")
	_, err := s.Update(within(t), n, []byte("new"))
	must(t, err)
	o.next("0=new")
	must(t, s.Delete(within(t), n))
	o.next("")
}

// V3
func TestWatchWhenAMemberFails(t *testing.T) {
	etcd := triple.Get(t)
	faults := map[string]struct {
		fail, mend func(m *testserver.EtcdMember) error
	}{
		"killed": {
			func(m *testserver.EtcdMember) error { return m.Kill() },
			func(m *testserver.EtcdMember) error { return m.Restart() },
		},
		"frozen": {
			func(m *testserver.EtcdMember) error { return m.Freeze() },
			func(m *testserver.EtcdMember) error { return m.Thaw() },
		},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			must(t, etcd.WaitHealthy(within(t)))
			sick := follower(t, etcd)
			f, all := atFirstOn(t, etcd, sick, swift())
			s := f.open(20 * time.Second)
			n := f.create(s, "d", "0")
			f.create(s, "d", "1")
			o := observing(t, f.conn, "d")
			o.next("0=0 1=1")
			all()
			must(t, fault.fail(etcd.Member(sick)))
			defer func() {
				must(t, fault.mend(etcd.Member(sick)))
				must(t, etcd.WaitHealthy(within(t)))
			}()
			f.deleteKey(n.Key)
			o.next("1=1")
			o.silent()
		})
	}
}

// V4: the credentials do not do.
func TestWatchDenied(t *testing.T) {
	t.Parallel()
	etcd := withAuth(t, testserver.EtcdOptions{})
	guest := targetOf(t, etcd)
	guest.Username, guest.Password = "guest", "secret-guest"
	c, err := opener(t).Open(within(t), guest)
	must(t, err)
	defer c.Close()
	observing(t, c, "d").ends(driver.ErrDenied)

	// A right that is taken away while somebody watches.
	admin := newClient(t, etcd.ClientConfig())
	ctx := within(t)
	_, err = admin.RoleAdd(ctx, "reader")
	must(t, err)
	_, err = admin.RoleGrantPermission(ctx, "reader", guest.Namespace+"/", clientv3.GetPrefixRangeEnd(guest.Namespace+"/"),
		clientv3.PermissionType(clientv3.PermRead))
	must(t, err)
	_, err = admin.UserGrantRole(ctx, "guest", "reader")
	must(t, err)
	// The change of the rights has made the token useless; a new one is got.
	var o *observation
	eventually(t, "the right is given", func() bool {
		o = observing(t, c, "d")
		select {
		case <-o.states:
			return true
		case err := <-o.result:
			if !errors.Is(err, driver.ErrDenied) {
				t.Error(err)
			}
			return false
		}
	})
	lease, err := admin.Grant(ctx, 600)
	must(t, err)
	key := keyspace(guest.Namespace).node("d", int64(lease.ID), "0")
	_, err = admin.Put(ctx, key, "0", clientv3.WithLease(lease.ID))
	must(t, err)
	o.next("0=0")
	_, err = admin.UserRevokeRole(ctx, "guest", "reader")
	must(t, err)
	observing(t, c, "d").ends(driver.ErrDenied)
	_, err = admin.Revoke(ctx, lease.ID)
	must(t, err)
	select {
	case nodes := <-o.states: // if the server still tells what it no longer should
		if len(nodes) != 0 {
			t.Error(fmt.Errorf("shown: %q", shown(nodes)))
		}
	case err := <-o.result:
		wantIs(t, err, driver.ErrDenied)
	}
}
