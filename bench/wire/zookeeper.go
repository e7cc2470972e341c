package wire

import (
	"bufio"
	"encoding/binary"
	"io"
)

// ZooKeeper counts a client's requests, but for the one that opens the session
// and those that have a number of their kind, by which clients keep a connection:
// pings, credentials, and the watches that they set again.
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
		number := int32(binary.BigEndian.Uint32(head[:]))
		if kind := number < 0 && number > -100; !first && !kind {
			request()
		}
		if _, err := io.CopyN(io.Discard, r, frame-4); err != nil {
			return
		}
	}
}
