package h2

import (
	"context"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// One connection serves call after call, however long the answers, with servers whose
// windows adapt and with such whose do not.
func TestCalls(t *testing.T) {
	for name, opts := range map[string][]grpc.ServerOption{
		"windows that adapt": nil,
		"fixed windows":      {grpc.InitialWindowSize(1 << 20), grpc.InitialConnWindowSize(1 << 20)},
		"no table":           {grpc.HeaderTableSize(0)},
	} {
		t.Run(name, func(t *testing.T) {
			c := startServer(t, opts...).dial(t)
			for range 3 {
				for _, size := range []int64{0, 1, 1000, http2DefaultFrame, 3 * Window} {
					echo(t, c, size)
				}
			}
			// More than the first window of the connection holds, in both directions.
			ctx := within(t)
			for range 2000 {
				_, err := ask(ctx, c, strings.Repeat("k", 1000), 4000)
				must(t, err)
			}
			if !c.Good() {
				t.Error("the connection serves no other call")
			}
		})
	}
}

const http2DefaultFrame = 16 << 10

// What the server says of a call is told as it is, and the connection goes on.
func TestServersError(t *testing.T) {
	c := startServer(t).dial(t)
	for range 2 {
		_, err := ask(within(t), c, "refuse", 0)
		wantCode(t, err, codes.InvalidArgument)
		if got := status.Convert(err).Message(); got != "100 % wrong: ä\n" {
			t.Errorf("the message is %q", got)
		}
		echo(t, c, 1)
	}
	err := c.Call(within(t), "/nobody.Knows/This", &pb.RangeRequest{}, &pb.RangeResponse{})
	wantCode(t, err, codes.Unimplemented)
	echo(t, c, 1)
}

// Who calls with a ctx that ends is not kept, and the server learns of it.
func TestCallEndsWithItsContext(t *testing.T) {
	s := startServer(t)
	for want, bound := range map[codes.Code]func(context.Context) (context.Context, context.CancelFunc){
		codes.Canceled: context.WithCancel,
		codes.DeadlineExceeded: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 100*time.Millisecond)
		},
	} {
		c := s.dial(t)
		echo(t, c, 1)
		ctx, cancel := bound(within(t))
		result := make(chan error, 1)
		go func() {
			_, err := ask(ctx, c, "hang", 0)
			result <- err
		}()
		next(t, "the call", s.began)
		if want == codes.Canceled {
			cancel()
		}
		wantCode(t, next(t, "the end of the call", result), want)
		next(t, "the news", s.ended)
		cancel()
		if c.Good() {
			t.Error("the connection would serve another call")
		}
	}
}

// A server that goes away in the middle of a call has maybe carried it out.
func TestServerThatGoesAway(t *testing.T) {
	s := startServer(t)
	c := s.dial(t)
	result := make(chan error, 1)
	go func() {
		_, err := ask(within(t), c, "hang", 0)
		result <- err
	}()
	next(t, "the call", s.began)
	s.Stop()
	wantCode(t, next(t, "the end of the call", result), codes.Unavailable)
	if c.Good() {
		t.Error("the connection would serve another call")
	}
}

// A server that is about to close a connection answers first, and is not asked again.
func TestServerThatTakesItsLeave(t *testing.T) {
	s := startServer(t)
	c := s.dial(t)
	result := make(chan error, 1)
	go func() {
		_, err := ask(within(t), c, "hang", 0)
		result <- err
	}()
	next(t, "the call", s.began)
	var stopping sync.WaitGroup
	stopping.Go(s.GracefulStop)
	for ctx := within(t); !c.spent.Load(); { // until it has said so
		must(t, ctx.Err())
		runtime.Gosched()
	}
	if c.Good() {
		t.Error("the connection would serve another call")
	}
	_ = c.Close()
	stopping.Wait()
	wantCode(t, next(t, "the end of the call", result), codes.Unavailable)
}

// What is too long for a frame is not sent.
func TestRequestThatIsTooLong(t *testing.T) {
	c := startServer(t).dial(t)
	_, err := ask(within(t), c, strings.Repeat("k", MaxRequest), 0)
	wantCode(t, err, codes.ResourceExhausted)
	_, err = ask(within(t), c, strings.Repeat("k", MaxRequest-10), 0)
	must(t, err)
}

// Who is no server of gRPC, or stops in the middle, is told by an error and not by an
// empty answer.
func TestOtherServers(t *testing.T) {
	for name, answer := range map[string]func(net.Conn){
		"says nothing": func(net.Conn) {},
		"HTTP/1":       func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") },
		"HTTP/2 alone": func(c net.Conn) {
			f := http2.NewFramer(c, nil)
			_ = f.WriteSettings()
			// An indexed field: status 404.
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x8d}, EndHeaders: true, EndStream: true})
		},
		"ends without a status": func(c net.Conn) {
			f := http2.NewFramer(c, nil)
			_ = f.WriteSettings()
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88}, EndHeaders: true})
			_ = f.WriteData(1, true, []byte{0, 0, 0, 0, 0})
		},
		"resets the call": func(c net.Conn) {
			f := http2.NewFramer(c, nil)
			_ = f.WriteSettings()
			_ = f.WriteRSTStream(1, http2.ErrCodeRefusedStream)
		},
		"closes the connection": func(c net.Conn) {
			f := http2.NewFramer(c, nil)
			_ = f.WriteSettings()
			_ = f.WriteGoAway(0, http2.ErrCodeNo, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			var serving sync.WaitGroup
			serving.Go(func() {
				_, _ = theirs.Read(make([]byte, 4<<10)) // what it says is not looked at
				serving.Go(func() { _, _ = io.Copy(io.Discard, theirs) })
				answer(theirs)
				if name == "says nothing" || name == "HTTP/1" {
					_ = theirs.Close()
				}
			})
			c := New(ours, "test")
			_, err := ask(within(t), c, "echo", 1)
			wantCode(t, err, codes.Unavailable)
			if c.Good() {
				t.Error("the connection would serve another call")
			}
			_ = ours.Close()
			serving.Wait()
		})
	}
}

// Fields go with each request.
func TestFields(t *testing.T) {
	s := startServer(t)
	c := s.dial(t, Field{"hasleader", "true"})
	for range 3 {
		echo(t, c, 1)
		s.mu.Lock()
		got := s.last.Get("hasleader")
		s.mu.Unlock()
		if len(got) != 1 || got[0] != "true" {
			t.Errorf("the server was told %v", got)
		}
	}
}
