package etcd

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/coordkit/coordkit/coord/driver"
)

// cutting is a server that ends each change in a way that the client has not called
// for, as a proxy does that resets a stream.
type cutting struct {
	pb.UnimplementedKVServer
	code     codes.Code
	asked    atomic.Int32
	asLeader atomic.Int32 // requests that are for a member with a leader
}

func (s *cutting) DeleteRange(ctx context.Context, _ *pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) {
	s.asked.Add(1)
	if md, _ := metadata.FromIncomingContext(ctx); len(md.Get(rpctypes.MetadataRequireLeaderKey)) > 0 {
		s.asLeader.Add(1)
	}
	return nil, status.Error(s.code, "cut by the test")
}

func (s *cutting) start(t *testing.T) (host string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := grpc.NewServer()
	pb.RegisterKVServer(server, s)
	go func() { _ = server.Serve(l) }() // which Stop ends
	t.Cleanup(server.Stop)
	return l.Addr().String()
}

// What clientv3 would send again, or an interceptor, is sent once, and its outcome is
// not known.
func TestRequestsAreSentOnce(t *testing.T) {
	again := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) (err error) {
		for range 3 {
			if err = invoke(ctx, method, req, reply, cc, opts...); err == nil || ctx.Err() != nil {
				break
			}
		}
		return err
	}
	for _, code := range []codes.Code{codes.Canceled, codes.DeadlineExceeded, codes.Unavailable} {
		server := &cutting{code: code}
		client := newClient(t, clientv3.Config{Endpoints: []string{server.start(t)}, Logger: zap.NewNop()}, grpc.WithChainUnaryInterceptor(again))
		c := newConn(client, "test", nil, defaultTiming)
		o := op{name: "delete", key: "k", write: true, limit: patience, life: c.ctx}
		err := c.delete(within(t), o, []byte("k"))
		wantIs(t, err, driver.ErrUncertain)
		if !strings.Contains(err.Error(), "cut by the test") {
			t.Errorf("%v: the error is %v", code, err)
		}
		if asked := server.asked.Load(); asked != 1 {
			t.Errorf("%v: sent %d times", code, asked)
		}
		must(t, c.Close())
	}
}

// The server's word counts also when the limit is reached in that moment.
func TestAnswerAtTheLimit(t *testing.T) {
	f := start(t)
	_, err := f.conn.List(within(t), "d") // by then there is a connection
	must(t, err)
	f.tap.intercept(func(c call) error {
		<-c.ctx.Done()
		return rpctypes.ErrGRPCLeaseNotFound
	})
	o := op{name: "create", key: "k", write: true, limit: 50 * time.Millisecond, life: f.conn.ctx}
	_, err = f.conn.txn(within(t), o, &pb.TxnRequest{})
	wantIs(t, err, rpctypes.ErrLeaseNotFound)
}

// An interceptor may return the error of its ctx as it is. That of an attempt is not the
// caller's.
func TestLimitIsNotTheCallersEnd(t *testing.T) {
	f := start(t)
	_, err := f.conn.List(within(t), "d") // by then there is a connection
	must(t, err)
	f.tap.intercept(func(c call) error {
		<-c.ctx.Done()
		return c.ctx.Err()
	})
	o := op{name: "create", key: "k", write: true, limit: 50 * time.Millisecond, life: f.conn.ctx}
	_, err = f.conn.txn(within(t), o, &pb.TxnRequest{})
	wantIs(t, err, driver.ErrUncertain)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the caller's ctx lives, and the error is %v", err)
	}
}

// aheadOf is a ctx whose deadline has passed, which it does not know yet.
type aheadOf struct{ context.Context }

func (aheadOf) Deadline() (time.Time, bool) { return time.Now(), true }

// The server says that the caller's deadline has passed before its ctx does.
func TestDeadlineKnownToTheServerFirst(t *testing.T) {
	f := start(t)
	ctx, cancel := context.WithCancel(within(t))
	f.tap.intercept(func(call) error {
		time.AfterFunc(10*time.Millisecond, cancel)
		return status.Error(codes.DeadlineExceeded, "the server's clock is fast")
	})
	o := op{name: "create", key: "k", write: true, limit: patience, life: f.conn.ctx}
	_, err := f.conn.txn(aheadOf{ctx}, o, &pb.TxnRequest{})
	wantIs(t, err, driver.ErrUncertain, context.Canceled)
}

// Where there are other members a request is to fail at once on one that is cut off
// from them. And only the driver's own client is known to send it once.
func TestOwnClientAndOthers(t *testing.T) {
	server := &cutting{code: codes.Internal}
	host := server.start(t)
	ask := func(c *conn) (withLeader bool) {
		before := server.asLeader.Load()
		o := op{name: "delete", key: "k", write: true, limit: patience, life: c.ctx}
		err := c.delete(within(t), o, []byte("k"))
		wantIs(t, err, driver.ErrUncertain)
		must(t, c.Close())
		return server.asLeader.Load() > before
	}
	for _, hosts := range [][]string{{host}, {host, host}} {
		target := driver.Target{Scheme: "etcd", Hosts: hosts, Namespace: "test", Logger: zap.NewNop()}
		opened, err := open(within(t), target)
		must(t, err)
		c := opened.(*conn)
		if !c.direct {
			t.Error("a client of the driver's own is taken for another")
		}
		if asked := ask(c); asked != (len(hosts) > 1) {
			t.Errorf("with %d hosts: a leader is asked for: %v", len(hosts), asked)
		}
	}
	made, err := New(newClient(t, clientv3.Config{Endpoints: []string{host}, Logger: zap.NewNop()}), "test", nil)
	must(t, err)
	c := made.(*conn)
	if c.direct {
		t.Error("a client of the program's own is taken for the driver's")
	}
	if !ask(c) {
		t.Error("with a client of the program's own: no leader is asked for")
	}
}
