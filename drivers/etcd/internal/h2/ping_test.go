package h2

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"golang.org/x/net/http2"
)

// byHand is the server's end of a connection that holds nothing: what one side writes the
// other has to read.
type byHand struct {
	*http2.Framer
	t testing.TB
}

// serveByHand returns the two ends of a connection, and has use run with the client's.
func serveByHand(t *testing.T, use func(ctx context.Context, c *Conn)) byHand {
	t.Helper()
	ours, theirs := net.Pipe()
	must(t, theirs.SetDeadline(time.Now().Add(patience)))
	ctx, cancel := context.WithCancel(within(t))
	var using sync.WaitGroup
	using.Go(func() { use(ctx, New(ours, "test")) })
	t.Cleanup(func() {
		cancel() // which closes the client's end
		using.Wait()
		must(t, theirs.Close())
	})
	_, err := io.ReadFull(theirs, make([]byte, len(http2.ClientPreface)))
	must(t, err)
	return byHand{http2.NewFramer(theirs, theirs), t}
}

// until reads up to the next frame of a kind.
func (s byHand) until(kind http2.FrameType) http2.Frame {
	s.t.Helper()
	for {
		f, err := s.ReadFrame()
		must(s.t, err)
		if f.Header().Type == kind {
			return f
		}
	}
}

// wantPong reads the answer to a ping.
func (s byHand) wantPong(data byte) {
	s.t.Helper()
	f := s.until(http2.FramePing).(*http2.PingFrame)
	if !f.IsAck() || f.Data != [8]byte{data} {
		s.t.Errorf("%v, with %v, is no answer to ping %d", f, f.Data, data)
	}
}

// Of the pings during a call the first has time until there is something else to send, and
// further ones, by which a server finds out whether somebody is there, are answered at once.
func TestPingsDuringACall(t *testing.T) {
	server := serveByHand(t, func(ctx context.Context, c *Conn) {
		_ = c.Call(ctx, pb.KV_Range_FullMethodName, &pb.RangeRequest{Key: []byte("k")}, &pb.RangeResponse{}) // it is not answered
	})
	server.until(http2.FrameData)
	must(t, server.WritePing(false, [8]byte{1}))
	must(t, server.WritePing(false, [8]byte{2})) // which is read only if the first was not answered
	server.wantPong(1)
	server.wantPong(2)
	must(t, server.WritePing(false, [8]byte{3}))
	server.wantPong(3)
}

// On a stream there may be nothing else to send for long.
func TestPingsDuringAStream(t *testing.T) {
	server := serveByHand(t, func(ctx context.Context, c *Conn) {
		stream, err := c.Open(ctx, pb.Watch_Watch_FullMethodName)
		if err == nil {
			err = stream.RecvMsg(&pb.WatchResponse{})
		}
		if ctx.Err() == nil {
			t.Errorf("the stream ended: %v", err)
		}
	})
	server.until(http2.FrameHeaders)
	for i := range byte(3) {
		must(t, server.WritePing(false, [8]byte{i}))
		server.wantPong(i)
	}
}
