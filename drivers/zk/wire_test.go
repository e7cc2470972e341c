package zk

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// Answers are found however the stream is cut into pieces.
func TestScanner(t *testing.T) {
	type head struct{ xid, code int32 }
	want := []head{{1, 0}, {-1, 0}, {7, -101}, {xidPing, 0}, {1 << 30, -4}}
	var stream []byte
	for i, h := range want {
		body := bytes.Repeat([]byte{0xff}, i*i*13)
		stream = binary.BigEndian.AppendUint32(stream, uint32(headLength-4+len(body)))
		stream = binary.BigEndian.AppendUint32(stream, uint32(h.xid))
		stream = binary.BigEndian.AppendUint64(stream, 42)
		stream = binary.BigEndian.AppendUint32(stream, uint32(h.code))
		stream = append(stream, body...)
	}
	for size := 1; size <= len(stream); size++ {
		var got []head
		s := scanner{each: func(xid, code int32) { got = append(got, head{xid, code}) }}
		for rest := stream; len(rest) > 0; {
			n := min(size, len(rest))
			s.scan(rest[:n])
			rest = rest[n:]
		}
		if len(got) != len(want) {
			t.Fatalf("in pieces of %d: %v; want %v", size, got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("in pieces of %d: %v; want %v", size, got, want)
			}
		}
	}
}

func TestMessage(t *testing.T) {
	got := message(xidRemove, opRemoveWatches, "/a", int32(watcherChildren))
	want := []byte{0, 0, 0, 18, 0xff, 0xff, 0, 0, 0, 0, 0, 18, 0, 0, 0, 2, '/', 'a', 0, 0, 0, 1}
	if !bytes.Equal(got, want) {
		t.Errorf("got %x; want %x", got, want)
	}
}
