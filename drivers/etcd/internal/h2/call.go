package h2

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// prefix is how long that is which stands before a message: a byte that says whether
// it is compressed, and four that say how long it is.
const prefix = 5

// reusable returns the memory of a message for the next one, unless it is much.
func reusable(b []byte) []byte {
	if cap(b) > 16<<10 {
		return nil
	}
	return b[:0]
}

// Call makes a call and fills in the reply. Its errors are those of package status: the
// server's, those of ctx, and Unavailable for all else, of which the call may have been
// carried out or not. It returns when ctx ends, and then the connection is closed.
func (c *Conn) Call(ctx context.Context, method string, request, reply proto.Message) error {
	message, err := frame(request)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // may be closed already
	if err := c.request(method, message); err != nil {
		stop()
		return c.failed(ctx, err)
	}
	answer, err := c.answer()
	if !stop() {
		c.spent.Store(true) // it is being closed
	}
	if err != nil {
		if _, said := status.FromError(err); said {
			return err
		}
		return c.failed(ctx, err)
	}
	err = proto.Unmarshal(answer, reply)
	c.message = reusable(c.message)
	if err != nil {
		return status.Errorf(codes.Internal, "the answer cannot be understood: %v", err)
	}
	return nil
}

// frame returns a message with its prefix.
func frame(m proto.Message) ([]byte, error) {
	b, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, prefix, 256), m)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "the request cannot be written: %v", err)
	}
	if len(b)-prefix > MaxRequest {
		return nil, status.Errorf(codes.ResourceExhausted, "a request of %d bytes; the most is %d", len(b)-prefix, MaxRequest)
	}
	binary.BigEndian.PutUint32(b[1:], uint32(len(b)-prefix))
	return b, nil
}

// answer reads until the stream ends, and returns the one message that came. It is
// valid until the next call. An error that is not of package status is the connection's.
func (c *Conn) answer() ([]byte, error) {
	c.message = c.message[:0]
	for {
		f, err := c.next(false)
		if err != nil {
			return nil, err
		}
		switch f := f.(type) {
		case *http2.DataFrame:
			c.message = append(c.message, f.Data()...)
			if f.StreamEnded() {
				return nil, errNoStatus
			}
		case *http2.MetaHeadersFrame:
			done, err := ends(f)
			switch {
			case err != nil:
				return nil, err
			case !done:
				continue
			}
			message, rest, err := split(c.message)
			switch {
			case err != nil:
				return nil, err
			case message == nil || len(rest) > 0:
				return nil, errors.New("the server did not answer with one message")
			}
			return message, nil
		}
	}
}

// split returns the first message of what was received, if it is there as a whole, and
// what comes after it.
func split(received []byte) (message, rest []byte, err error) {
	if len(received) < prefix {
		return nil, received, nil
	}
	n := binary.BigEndian.Uint32(received[1:])
	switch {
	case received[0] != 0:
		return nil, nil, errors.New("the server has compressed its answer, unasked")
	case n > math.MaxInt32:
		return nil, nil, fmt.Errorf("the server announces a message of %d bytes", n)
	case uint32(len(received)-prefix) < n:
		return nil, received, nil
	}
	end := prefix + int(n)
	return received[prefix:end:end], received[end:], nil
}
