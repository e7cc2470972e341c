package h2

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
)

func create(id, size int64) *pb.WatchRequest {
	return &pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{
		CreateRequest: &pb.WatchCreateRequest{WatchId: id, StartRevision: size},
	}}
}

func end(id int64) *pb.WatchRequest {
	return &pb.WatchRequest{RequestUnion: &pb.WatchRequest_CancelRequest{
		CancelRequest: &pb.WatchCancelRequest{WatchId: id},
	}}
}

func open(t testing.TB, ctx context.Context, s *server) *Stream {
	t.Helper()
	stream, err := s.dial(t).Open(ctx, pb.Watch_Watch_FullMethodName)
	must(t, err)
	return stream
}

// Messages of all lengths come whole and in order, while others are sent.
func TestStream(t *testing.T) {
	stream := open(t, within(t), startServer(t))
	sizes := []int64{0, 1, 100, 16 << 10, 100 << 10, 3 * Window}
	const rounds = 50
	var sending sync.WaitGroup
	sending.Go(func() {
		for i := range rounds * len(sizes) {
			size := sizes[i%len(sizes)]
			if i > 2*len(sizes) {
				size %= 1000
			}
			if err := stream.SendMsg(create(int64(i), size)); err != nil {
				t.Errorf("send %d: %v", i, err)
				return
			}
		}
	})
	defer sending.Wait()
	for i := range rounds * len(sizes) {
		var resp pb.WatchResponse
		must(t, stream.RecvMsg(&resp))
		size := sizes[i%len(sizes)]
		if i > 2*len(sizes) {
			size %= 1000
		}
		if resp.WatchId != int64(i) || int64(len(resp.CancelReason)) != size {
			t.Fatalf("message %d is number %d of %d bytes; want %d", i, resp.WatchId, len(resp.CancelReason), size)
		}
	}
}

// More goes through a stream than its first window holds, in small messages.
func TestStreamThatLasts(t *testing.T) {
	stream := open(t, within(t), startServer(t))
	for i := range int64(4000) {
		must(t, stream.SendMsg(create(i<<40, 2000)))
		var resp pb.WatchResponse
		must(t, stream.RecvMsg(&resp))
	}
}

// The server's end of a stream is told, with its error if there is one.
func TestServerEndsStream(t *testing.T) {
	s := startServer(t)
	stream := open(t, within(t), s)
	must(t, stream.SendMsg(end(0)))
	if err := stream.RecvMsg(&pb.WatchResponse{}); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
	stream = open(t, within(t), s)
	must(t, stream.SendMsg(end(1)))
	wantCode(t, stream.RecvMsg(&pb.WatchResponse{}), codes.PermissionDenied)
	wantCode(t, stream.RecvMsg(&pb.WatchResponse{}), codes.PermissionDenied)
}

// A stream ends with its ctx, at once, and the server learns of it.
func TestStreamEndsWithItsContext(t *testing.T) {
	s := startServer(t)
	ctx, cancel := context.WithCancel(within(t))
	stream := open(t, ctx, s)
	must(t, stream.SendMsg(create(1, 1)))
	must(t, stream.RecvMsg(&pb.WatchResponse{}))
	result := make(chan error, 1)
	go func() { result <- stream.RecvMsg(&pb.WatchResponse{}) }()
	cancel()
	wantCode(t, next(t, "the end of the stream", result), codes.Canceled)
	next(t, "the news", s.ended)
	if err := stream.SendMsg(create(2, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("sent after the end: %v", err)
	}
}

// A server that goes away ends the stream.
func TestStreamOfServerThatGoesAway(t *testing.T) {
	s := startServer(t)
	stream := open(t, within(t), s)
	must(t, stream.SendMsg(create(1, 1)))
	must(t, stream.RecvMsg(&pb.WatchResponse{}))
	s.Stop()
	wantCode(t, stream.RecvMsg(&pb.WatchResponse{}), codes.Unavailable)
}
