package h2

import (
	"context"
	"io"
	"sync"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Stream is a call of many messages in both directions: a grpc.ClientStream. Of its
// methods SendMsg may be called while RecvMsg is.
type Stream struct {
	conn *Conn
	ctx  context.Context
	stop func() bool // ends the watch on ctx
	got  []byte      // received; messages up to at were returned
	at   int

	mu  sync.Mutex
	end error // what RecvMsg has ended with
}

// Open begins a stream, to which the connection belongs from then on: it is closed when
// the stream ends, or ctx does, or Close is called.
func (c *Conn) Open(ctx context.Context, method string) (*Stream, error) {
	s := &Stream{conn: c, ctx: ctx}
	s.stop = context.AfterFunc(ctx, func() { _ = c.Close() }) // may be closed already
	if err := c.request(method, nil); err != nil {
		s.stop()
		return nil, c.failed(ctx, err)
	}
	return s, nil
}

// SendMsg sends a message. As with gRPC, it returns io.EOF if the stream is over, and
// RecvMsg tells why.
func (s *Stream) SendMsg(m any) error {
	message, err := frame(m.(proto.Message))
	if err != nil {
		return err
	}
	c := s.conn
	c.mu.Lock()
	err = c.data(message, false)
	if err == nil {
		err = c.flush()
	}
	c.mu.Unlock()
	if err != nil {
		s.over(err)
		return io.EOF
	}
	return nil
}

// RecvMsg waits for the next message. io.EOF is the server's end of the stream; other
// errors are as those of Conn.Call.
func (s *Stream) RecvMsg(m any) error {
	message, err := s.receive()
	if err != nil {
		s.stop()
		_ = s.conn.Close() // may be closed already
		return err
	}
	if err := proto.Unmarshal(message, m.(proto.Message)); err != nil {
		return status.Errorf(codes.Internal, "a message cannot be understood: %v", err)
	}
	return nil
}

// receive returns the next message, which is valid until the next call.
func (s *Stream) receive() ([]byte, error) {
	for {
		message, rest, err := split(s.got[s.at:])
		switch {
		case err != nil:
			return nil, s.over(err)
		case message != nil:
			s.at = len(s.got) - len(rest)
			return message, nil
		case len(rest) == 0:
			s.got, s.at = reusable(s.got), 0
		case s.at > 0: // what is left is moved to where there is room behind it
			s.got, s.at = append(s.got[:0], rest...), 0
		}
		f, err := s.conn.next(true)
		if err != nil {
			return nil, s.over(err)
		}
		switch f := f.(type) {
		case *http2.DataFrame:
			s.got = append(s.got, f.Data()...)
			if f.StreamEnded() {
				return nil, s.over(errNoStatus)
			}
		case *http2.MetaHeadersFrame:
			done, err := ends(f)
			switch {
			case done && err == nil:
				return nil, io.EOF
			case err != nil:
				return nil, s.over(err)
			}
		}
	}
}

// over makes the error that the stream ends with. The first one counts.
func (s *Stream) over(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end == nil {
		if _, said := status.FromError(err); said {
			s.end = err
			_ = s.conn.Close() // may be closed already
		} else {
			s.end = s.conn.failed(s.ctx, err)
		}
	}
	return s.end
}

// CloseSend does nothing: a stream is ended by its ctx.
func (s *Stream) CloseSend() error { return nil }

// Context implements grpc.ClientStream.
func (s *Stream) Context() context.Context { return s.ctx }

// Header and Trailer implement grpc.ClientStream. What the server tells in them is not
// kept.
func (s *Stream) Header() (metadata.MD, error) { return nil, nil }

// Trailer is like Header.
func (s *Stream) Trailer() metadata.MD { return nil }
