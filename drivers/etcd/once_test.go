package etcd

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
)

// cutting is a server that ends each change in a way that the client has not called for, as
// a proxy does that resets a stream.
type cutting struct {
	pb.UnimplementedKVServer
	err error

	mu    sync.Mutex
	asked int
}

func (s *cutting) Txn(context.Context, *pb.TxnRequest) (*pb.TxnResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return nil, s.err
}

// C2: what clientv3 would send again, or an interceptor, is sent once.
func TestChangesAreSentOnce(t *testing.T) {
	again := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) (err error) {
		for range 3 {
			if err = invoke(ctx, method, req, reply, cc, opts...); err == nil || ctx.Err() != nil {
				break
			}
		}
		return err
	}
	for _, code := range []codes.Code{codes.Canceled, codes.DeadlineExceeded, codes.Unavailable} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		service := &cutting{err: status.Error(code, "cut by the test")}
		server := grpc.NewServer()
		pb.RegisterKVServer(server, service)
		go func() { _ = server.Serve(l) }() // which Stop ends
		defer server.Stop()
		client := newClient(t, clientv3.Config{Endpoints: []string{l.Addr().String()}, Logger: targetLogger(t)}, grpc.WithChainUnaryInterceptor(again))
		opened, err := New(client, "test", nil)
		must(t, err)
		c := opened.(*conn)
		o := attempt.Op{Store: scheme, Name: "delete", Write: true, Limit: patience}
		err = o.Do(within(t), c.sessions.Life(), func(ctx context.Context) error {
			_, err := c.kv.Do(ctx, clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpDelete("k")}, nil))
			return answer(o, err)
		})
		wantIs(t, err, driver.ErrUncertain)
		if service.asked != 1 || !strings.Contains(err.Error(), "cut by the test") {
			t.Errorf("%v: sent %d times: %v", code, service.asked, err)
		}
		must(t, c.Close())
	}
}
