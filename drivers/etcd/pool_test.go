package etcd

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap/zaptest"
	"google.golang.org/grpc"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/testserver"
)

// openOn opens a connection as a program does.
func openOn(t *testing.T, etcd *testserver.Etcd) *conn {
	t.Helper()
	target := targetOf(t, etcd)
	target.Logger = zaptest.NewLogger(t)
	opened, err := open(within(t), target)
	must(t, err)
	t.Cleanup(func() { must(t, opened.Close()) })
	return opened.(*conn)
}

// state returns how many connections a pool has, those of streams apart, and to which host
// the last one was made.
func (p *pool) state() (calling, streaming, host int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	host = -1
	for c := range p.opened {
		if !c.stream {
			host = c.host
		}
	}
	return p.calling, len(p.opened) - p.calling, host
}

// ask makes a request that may fail, as while there is no leader.
func (c *conn) asks(t *testing.T) error {
	t.Helper()
	_, err := c.List(within(t), "d")
	return err
}

// Who asks now and then has no connection beside gRPC's, who asks all the time has one,
// and it is not kept when there is nothing more to ask.
func TestPoolIsForThoseWhoAskMuch(t *testing.T) {
	c := openOn(t, single.Get(t))
	for range worthwhile - 1 {
		must(t, c.asks(t))
	}
	if calling, _, _ := c.pool.state(); calling != 0 {
		t.Errorf("%d connections for %d requests", calling, worthwhile-1)
	}
	eventually(t, "requests go over a connection", func() bool {
		sent, err := c.pool.lists(t)
		must(t, err)
		return sent
	})
	eventually(t, "none is left when those that are idle are closed", func() bool {
		c.pool.free.Empty() // another one may be in the making
		calling, _, _ := c.pool.state()
		return calling == 0
	})
}

// A client of the program's own does all by itself.
func TestNoPoolBesideAClientOfOnesOwn(t *testing.T) {
	made, err := New(newClient(t, single.Get(t).ClientConfig()), "test", nil)
	must(t, err)
	defer made.Close()
	if made.(*conn).pool != nil {
		t.Error("a pool beside a client of the program's own")
	}
}

// A server that was restarted has closed the connections, which is noticed before they
// are used: no change is in doubt.
func TestPoolAfterARestart(t *testing.T) {
	etcd := testserver.StartEtcd(t, testserver.EtcdOptions{})
	f := startOn(t, etcd.ClientConfig(), etcd.ClientConfig(), defaultTiming)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	for range 3 {
		must(t, etcd.Member(0).Kill())
		must(t, etcd.Member(0).Restart())
		must(t, etcd.WaitHealthy(within(t)))
		var err error
		n, err = s.Update(within(t), n, nil)
		must(t, err)
		eventually(t, "there is a connection again", func() bool {
			must(t, f.asks(t))
			calling, _, _ := f.pool.state()
			return calling > 0
		})
	}
}

// The connections are to the leader, and to the next one after an election, whatever has
// become of the last.
func TestPoolFollowsTheLeader(t *testing.T) {
	etcd := triple.Get(t)
	for name, fault := range map[string]struct {
		fail, mend func(m *testserver.EtcdMember) error
	}{
		"killed": {(*testserver.EtcdMember).Kill, (*testserver.EtcdMember).Restart},
		"frozen": {(*testserver.EtcdMember).Freeze, (*testserver.EtcdMember).Thaw},
	} {
		t.Run(name, func(t *testing.T) {
			must(t, etcd.WaitHealthy(within(t)))
			c := openOn(t, etcd)
			c.timing.attempt, c.pool.timeout = 500*time.Millisecond, 500*time.Millisecond
			leads := func() bool {
				_ = c.asks(t) // it may fail for a while
				leader, err := etcd.Leader(within(t))
				_, _, host := c.pool.state()
				return err == nil && host == leader
			}
			eventually(t, "a connection to the leader", leads)
			leader, err := etcd.Leader(within(t))
			must(t, err)
			must(t, fault.fail(etcd.Member(leader)))
			mended := false
			mend := func() {
				if !mended {
					mended = true
					must(t, fault.mend(etcd.Member(leader)))
					must(t, etcd.WaitHealthy(within(t)))
				}
			}
			defer mend()
			eventually(t, "a connection to another member", func() bool {
				_ = c.asks(t) // likewise
				_, _, host := c.pool.state()
				return host >= 0 && host != leader
			})
			eventually(t, "a request succeeds", func() bool { return c.asks(t) == nil })
			mend()
			eventually(t, "a connection to the leader", leads)
		})
	}
}

// A member that has lost the others says so, and is not asked over the pool again.
func TestPoolLeavesAMemberThatHasLostTheOthers(t *testing.T) {
	etcd := testserver.StartEtcd(t, testserver.EtcdOptions{Members: 3})
	c := openOn(t, etcd)
	eventually(t, "there is a connection", func() bool {
		must(t, c.asks(t))
		calling, _, _ := c.pool.state()
		return calling > 0
	})
	leader, err := etcd.Leader(within(t))
	must(t, err)
	for i, m := range etcd.Members {
		if i != leader {
			must(t, m.Kill())
		}
	}
	eventually(t, "the leader has noticed, and is not asked any more", func() bool {
		err := c.asks(t)
		calling, _, _ := c.pool.state()
		return errors.Is(err, driver.ErrUnavailable) && calling == 0
	})
	for i, m := range etcd.Members {
		if i != leader {
			must(t, m.Restart())
		}
	}
	must(t, etcd.WaitHealthy(within(t)))
	eventually(t, "there is a connection again", func() bool {
		_ = c.asks(t) // gRPC's may not be back yet
		calling, _, _ := c.pool.state()
		return calling > 0
	})
}

// Of each watch that ends the connection ends too.
func TestStreamsOfAPoolEnd(t *testing.T) {
	timing := defaultTiming
	timing.feeds.linger, timing.feeds.tick = 10*time.Millisecond, 10*time.Millisecond
	f := startOn(t, single.Get(t).ClientConfig(), single.Get(t).ClientConfig(), timing)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	wait := waiting(within(t), s, n)
	f.eventuallyOpen("d")
	if _, streaming, _ := f.pool.state(); streaming != 1 {
		t.Errorf("%d connections for streams", streaming)
	}
	must(t, s.Delete(within(t), n))
	must(t, receive(t, "the wait", wait))
	eventually(t, "the stream's connection is closed", func() bool {
		_, streaming, _ := f.pool.state()
		return streaming == 0
	})
}

// outspoken is a server that speaks before it is asked, as one does that serves nothing but
// gRPC at its address.
type outspoken struct {
	pb.UnimplementedKVServer
	pb.UnimplementedMaintenanceServer
}

func (outspoken) Range(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
	return &pb.RangeResponse{Header: &pb.ResponseHeader{}}, nil
}

func (outspoken) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{Header: &pb.ResponseHeader{MemberId: 1}, Leader: 1}, nil
}

func TestPoolWithServerThatSpeaksFirst(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := grpc.NewServer()
	pb.RegisterKVServer(server, outspoken{})
	pb.RegisterMaintenanceServer(server, outspoken{})
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) }) // until it is stopped
	t.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	p := newTestPool(t, clientv3.Config{Endpoints: []string{l.Addr().String()}})
	for i := range 100 {
		sent, err := p.ask(within(t), within(t), pb.KV_Range_FullMethodName, &pb.RangeRequest{}, new(pb.RangeResponse))
		if !sent || err != nil {
			t.Fatalf("request %d: %v, %v", i, sent, err)
		}
	}
}

// After a backup was restored, terms begin again.
func TestPoolAfterTermsWentBack(t *testing.T) {
	p := newTestPool(t, triple.Get(t).ClientConfig())
	p.term.Store(1 << 40)
	if c := p.take(); c != nil {
		t.Error("a connection of before an election is used")
	}
	p.connect()
	if c := p.take(); c == nil {
		t.Error("a connection is not used, for terms that are over")
	}
}

// A caller who gives up takes the connection with it, and no other.
func TestPoolWhenCallersGiveUp(t *testing.T) {
	member := single.Get(t).Member(0)
	p := newTestPool(t, single.Get(t).ClientConfig())
	p.connect()
	ask := func(ctx, attempt context.Context) (sent bool) {
		sent, _ = p.ask(ctx, attempt, pb.KV_Range_FullMethodName, &pb.RangeRequest{Key: []byte("k")}, new(pb.RangeResponse))
		return sent
	}
	calling := func() int { n, _, _ := p.state(); return n }
	ended, cancel := context.WithTimeout(within(t), 10*time.Millisecond)
	defer cancel()
	must(t, member.Freeze())
	asked := ask(ended, ended)
	must(t, member.Thaw())
	if n := calling(); !asked || n != 1 {
		t.Errorf("asked: %v; %d connections are left of 2; want 1", asked, n)
	}
	p.connect()
	limited, cancel := context.WithTimeout(within(t), 10*time.Millisecond)
	defer cancel()
	must(t, member.Freeze())
	asked = ask(within(t), limited)
	must(t, member.Thaw())
	if n := calling(); !asked || n != 0 {
		t.Errorf("asked: %v; %d connections are left to a member that does not answer", asked, n)
	}
}

// asksOver makes requests over a pool, which must have a connection, and the same one
// throughout.
func asksOver(t *testing.T, p *pool) {
	t.Helper()
	for i := range 50 {
		if sent, err := p.lists(t); !sent || err != nil {
			t.Fatalf("request %d: %v, %v", i, sent, err)
		}
	}
}

func (p *pool) lists(t *testing.T) (sent bool, err error) {
	t.Helper()
	return p.ask(within(t), within(t), pb.KV_Range_FullMethodName, &pb.RangeRequest{Key: []byte("k")}, new(pb.RangeResponse))
}

// Where the servers cannot be reached but by a proxy, which gRPC knows of, packets to them
// may be dropped without a word.
func TestStreamsFindAnotherWay(t *testing.T) {
	f := start(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close() // which accepts and says nothing
	silent := poolFor(driver.Target{Hosts: []string{l.Addr().String()}, Username: "root", Logger: zaptest.NewLogger(t)}, defaultSettings)
	defer silent.close()
	over, before := pb.NewWatchClient(streams{f.conn.channel, silent}), silent.streamed.Load()
	short, cancel := context.WithTimeout(within(t), 50*time.Millisecond)
	defer cancel()
	if _, err := over.Watch(short); err == nil {
		t.Error("a stream to nobody")
	}
	for range 2 {
		for range 3 {
			_, err := over.Watch(within(t))
			must(t, err)
		}
		silent.barred.Store(0) // a while has passed; there will be time to find out
	}
	if n := silent.streamed.Load() - before; n != 2 {
		t.Errorf("tried %d times what is in vain; want 2", n)
	}
}
