package wire

import (
	"bufio"
	"encoding/binary"
	"io"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// keepAlive is the method by which clients of etcd keep their leases.
const keepAlive = "/etcdserverpb.Lease/LeaseKeepAlive"

// GRPC counts the messages that a client of etcd sends: one for each call, and on
// a stream of watches one for each that begins or ends.
func GRPC(said io.Reader, request func()) {
	r := bufio.NewReader(said)
	if _, err := io.CopyN(io.Discard, r, int64(len(http2.ClientPreface))); err != nil {
		return
	}
	frames := http2.NewFramer(nil, r)
	frames.SetMaxReadFrameSize(1<<24 - 1)
	frames.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	streams := make(map[uint32]*messages)
	for {
		f, err := frames.ReadFrame()
		if err != nil {
			return
		}
		id := f.Header().StreamID
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			if f.PseudoValue("path") != keepAlive {
				streams[id] = new(messages)
			}
		case *http2.DataFrame:
			if s := streams[id]; s != nil {
				for range s.take(f.Data()) {
					request()
				}
			}
			if f.StreamEnded() {
				delete(streams, id)
			}
		case *http2.RSTStreamFrame:
			delete(streams, id)
		}
	}
}

// messages finds where messages end in what is said on a stream: each follows a
// byte and its length in four.
type messages struct {
	head []byte
	left int // of the message's body
}

// take returns how many messages begin in data.
func (m *messages) take(data []byte) (begun int) {
	const head = 5
	for len(data) > 0 {
		if n := min(m.left, len(data)); n > 0 {
			m.left -= n
			data = data[n:]
			continue
		}
		n := min(head-len(m.head), len(data))
		m.head = append(m.head, data[:n]...)
		data = data[n:]
		if len(m.head) == head {
			m.left = int(binary.BigEndian.Uint32(m.head[1:]))
			m.head = m.head[:0]
			begun++
		}
	}
	return begun
}
