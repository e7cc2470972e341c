package wire

import (
	"bufio"
	"encoding/binary"
	"io"
)

// ZooKeeper counts a client's requests, but for the one that opens the session
// and those that the client numbers itself: pings, and what it says again after
// it was disconnected.
func ZooKeeper(said io.Reader, request func()) {
	r := bufio.NewReader(said)
	var head [4]byte
	for first := true; ; first = false {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		frame := int64(binary.BigEndian.Uint32(head[:]))
		if frame < 4 {
			return
		}
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		if number := int32(binary.BigEndian.Uint32(head[:])); !first && number >= 0 {
			request()
		}
		if _, err := io.CopyN(io.Discard, r, frame-4); err != nil {
			return
		}
	}
}
