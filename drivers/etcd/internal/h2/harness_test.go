package h2

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const patience = 20 * time.Second

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// server is a gRPC server that does as the requests say. Keys are orders: see Range.
type server struct {
	pb.UnimplementedKVServer
	pb.UnimplementedWatchServer
	*grpc.Server
	addr string

	mu    sync.Mutex
	began chan struct{} // has one for each call that is to hang
	ended chan struct{} // and one when it has been canceled
	last  metadata.MD
}

func startServer(t testing.TB, opts ...grpc.ServerOption) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s := &server{
		Server: grpc.NewServer(opts...), addr: l.Addr().String(),
		began: make(chan struct{}, 10), ended: make(chan struct{}, 10),
	}
	pb.RegisterKVServer(s.Server, s)
	pb.RegisterWatchServer(s.Server, s)
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) }) // until it is stopped
	t.Cleanup(func() {
		s.Stop()
		serving.Wait()
	})
	return s
}

// Range answers as the key says: "echo" with as many bytes as the limit says, "refuse"
// with an error, and "hang" not at all.
func (s *server) Range(ctx context.Context, req *pb.RangeRequest) (*pb.RangeResponse, error) {
	s.mu.Lock()
	s.last, _ = metadata.FromIncomingContext(ctx)
	s.mu.Unlock()
	switch string(req.Key) {
	case "refuse":
		return nil, status.Error(codes.InvalidArgument, "100 % wrong: ä\n")
	case "hang":
		s.began <- struct{}{}
		<-ctx.Done()
		s.ended <- struct{}{}
		return nil, ctx.Err()
	}
	return &pb.RangeResponse{Count: req.Limit, Kvs: []*mvccpb.KeyValue{{Key: req.Key, Value: make([]byte, req.Limit)}}}, nil
}

// Watch answers each request with one that has its watch's number, and as many bytes as
// its first revision says. A cancellation ends the stream, with an error unless its number
// is 0.
func (s *server) Watch(stream pb.Watch_WatchServer) error {
	for {
		req, err := stream.Recv()
		if err != nil {
			s.ended <- struct{}{}
			return nil
		}
		if end := req.GetCancelRequest(); end != nil {
			if end.WatchId == 0 {
				return nil
			}
			return status.Error(codes.PermissionDenied, "enough")
		}
		create := req.GetCreateRequest()
		if err := stream.Send(&pb.WatchResponse{WatchId: create.WatchId, CancelReason: string(make([]byte, create.StartRevision))}); err != nil {
			return err
		}
	}
}

// dial connects to the server.
func (s *server) dial(t testing.TB, fields ...Field) *Conn {
	t.Helper()
	socket, err := net.Dial("tcp", s.addr)
	must(t, err)
	c := New(socket, s.addr, fields...)
	t.Cleanup(func() { _ = c.Close() }) // may be closed already
	return c
}

// ask makes a call that is answered with so many bytes.
func ask(ctx context.Context, c *Conn, key string, size int64) (*pb.RangeResponse, error) {
	resp := new(pb.RangeResponse)
	err := c.Call(ctx, pb.KV_Range_FullMethodName, &pb.RangeRequest{Key: []byte(key), Limit: size}, resp)
	return resp, err
}

// echo makes a call that must succeed.
func echo(t testing.TB, c *Conn, size int64) {
	t.Helper()
	resp, err := ask(within(t), c, "echo", size)
	must(t, err)
	if len(resp.Kvs) != 1 || int64(len(resp.Kvs[0].Value)) != size {
		t.Fatalf("the answer is %d bytes of %d", len(resp.Kvs[0].GetValue()), size)
	}
}

func wantCode(t testing.TB, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); err == nil || got != want {
		t.Errorf("the error is %v (%v); want %v", err, got, want)
	}
}

// next receives from a channel.
func next[T any](t testing.TB, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-within(t).Done():
		t.Fatalf("waiting for %s", what)
	}
	return v
}
