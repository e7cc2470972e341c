package storetest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
)

// ears read what is said on a connection: by the client, and by the server. Each
// may be nil.
type ears struct{ client, server func(*tap, io.Reader) }

// hearStatus counts HTTP responses by their status.
func hearStatus(p *tap, said io.Reader) {
	r := bufio.NewReader(said)
	for {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return
		}
		p.hear(resp.Status)
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return
		}
	}
}

// hearConsul counts the requests that a client of Consul makes, by what it wants
// with them. Those that keep a session are not counted, nor the queries of waits.
func hearConsul(p *tap, said io.Reader) {
	r := bufio.NewReader(said)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		switch {
		case req.URL.Path == "/v1/txn":
			p.hear("transaction")
		case strings.HasPrefix(req.URL.Path, "/v1/session/"):
		case req.URL.Query().Has("recurse") && !req.URL.Query().Has("wait"):
			p.hear("read")
		case req.Method == http.MethodGet: // of a wait, whose queries are made again when they lapse
		default:
			p.hear(req.Method)
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
	}
}

const ownEvent = "own "

// hearEvents counts the notifications that ZooKeeper sends, by path. Those of
// the session's own nodes, whose names begin with it, are marked.
func hearEvents(p *tap, said io.Reader) {
	own := ""
	for frame := range frames(said) {
		const event = -1
		switch {
		case own == "": // version, timeout, session, password
			own = fmt.Sprintf("%016x-", binary.BigEndian.Uint64(frame[8:]))
		case int32(binary.BigEndian.Uint32(frame)) == event: // zxid, error; type, state, path
			path := string(frame[16+8+4:])
			if strings.HasPrefix(path[strings.LastIndexByte(path, '/')+1:], own) {
				path = ownEvent + path
			}
			p.hear(path)
		}
	}
}

// hearZooKeeper counts the requests that a client of ZooKeeper makes, by what it
// wants with them. The transaction that keeps a session is not counted, nor is what
// takes a watch back.
func hearZooKeeper(p *tap, said io.Reader) {
	// As in ZooKeeper's ZooDefs.OpCode.
	const (
		remove, ping, children, transaction, unwatch = 2, 11, 12, 14, 18
	)
	// One that asks for the version of the root and does nothing: the kind of
	// the first operation (13), whether it is the last, an error code, a path.
	renewal := []byte{0, 0, 0, 13, 0, 255, 255, 255, 255, 0, 0, 0, 1, '/'}
	first := true
	for frame := range frames(said) {
		if first { // the handshake
			first = false
			continue
		}
		switch op, rest := binary.BigEndian.Uint32(frame[4:]), frame[8:]; op { // number, operation
		case transaction:
			if !bytes.HasPrefix(rest, renewal) {
				p.hear("transaction")
			}
		case children:
			if rest[len(rest)-1] == 1 { // path, whether to watch
				p.hear("watch")
			} else {
				p.hear("read")
			}
		case remove:
			p.hear("removal")
		case unwatch: // which nobody waits for, and which is needed or not as events come
		case ping:
			p.hear("ping")
		default:
			p.hear(fmt.Sprint("operation ", int32(op)))
		}
	}
}

// frames are the messages of ZooKeeper's protocol, without their lengths.
func frames(said io.Reader) iter.Seq[[]byte] {
	r := bufio.NewReader(said)
	return func(yield func([]byte) bool) {
		for {
			var length [4]byte
			if _, err := io.ReadFull(r, length[:]); err != nil {
				return
			}
			frame := make([]byte, binary.BigEndian.Uint32(length[:]))
			if _, err := io.ReadFull(r, frame); err != nil || !yield(frame) {
				return
			}
		}
	}
}
