package zk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// wire is a connection to a server between the client library and the network. It does
// what the driver needs and the library cannot do:
//
//   - It reads the answer to the handshake first (S7): the library keeps the granted timeout
//     to itself, and believes any number in the place of the answer's length.
//   - It turns the reads of some paths into watches, and takes these back (W6). Watches of
//     the library stay until they fire, and are set again in a data race.
//   - It asks for the end of the session, on each connection (S5). The library does that once.
//   - It closes the connection if a write fails (N1). The library would block for ever if it
//     was sending the credentials again.
//   - It knows when the server said something last (S3).
//   - It tells that a message is being written, so that a list travels right behind a create.
type wire struct {
	net.Conn
	opened time.Time

	granted func(session int64, timeout time.Duration) error // takes the answer to the handshake
	watched func(path string) bool                           // whether reads of a path set watches
	sending func(message []byte)                             // is told of each message, before it is written
	failed  func(error)                                      // is told why there was no handshake

	first []byte       // what is left of the answer to the handshake; nil before that
	heard atomic.Int64 // when the server said something last, as time since opened
	hurry *time.Timer  // ends a handshake that takes too long
	mu    sync.Mutex   // held while a message is written
	asked bool         // the request for a session was written
}

// The numbers of operations, as in ZooKeeper's ZooDefs.OpCode.
const (
	opExists        = 3
	opGetData       = 4
	opGetChildren2  = 12
	opRemoveWatches = 18
	opCloseSession  = -11

	xidOurs    = -1 << 16 // no request of the library has it, and it ignores the answer
	watcherAny = 3
)

// drop makes the library connect anew. w may be nil.
func (w *wire) drop() {
	if w != nil {
		_ = w.Close()
	}
}

// Write implements net.Conn. The library writes one message at a time. Each but the first
// begins with its length, its number and the operation; reads end with the path and a byte
// that asks for a watch.
func (w *wire) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked && len(b) > 16 {
		switch int32(binary.BigEndian.Uint32(b[8:])) {
		case opExists, opGetData, opGetChildren2:
			if last := len(b) - 1; w.watched(string(b[16:last])) {
				b = bytes.Clone(b)
				b[last] = 1
			}
		}
	}
	w.asked = true
	w.write(b)
	return len(b), nil
}

// write writes a message. The caller holds the lock.
func (w *wire) write(b []byte) {
	w.sending(b) // not afterwards: the answer may come before Write returns
	if _, err := w.Conn.Write(b); err != nil {
		w.drop()
	}
}

// takeBack has the server remove the watches of a path, if no user has come. w may be nil.
func (w *wire) takeBack(path string) {
	if w == nil {
		return
	}
	rest := binary.BigEndian.AppendUint32(nil, uint32(len(path)))
	rest = binary.BigEndian.AppendUint32(append(rest, path...), watcherAny)
	w.request(opRemoveWatches, rest, func() bool { return !w.watched(path) })
}

// endSession has the server end the session. It closes the connection then.
func (w *wire) endSession() { w.request(opCloseSession, nil, func() bool { return true }) }

func (w *wire) request(op int32, rest []byte, still func() bool) {
	b := binary.BigEndian.AppendUint32(nil, uint32(8+len(rest)))
	b = binary.BigEndian.AppendUint32(b, uint32(xidOurs&0xffffffff))
	b = binary.BigEndian.AppendUint32(b, uint32(op))
	w.mu.Lock()
	defer w.mu.Unlock()
	if still() {
		w.write(append(b, rest...))
	}
}

// Read implements net.Conn.
func (w *wire) Read(b []byte) (n int, err error) {
	if w.first == nil {
		answer, err := w.greet()
		if err != nil {
			w.failed(err)
			return 0, err
		}
		w.first = answer
	}
	if len(w.first) > 0 {
		n = copy(b, w.first)
		w.first = w.first[n:]
	} else {
		n, err = w.Conn.Read(b)
	}
	if n > 0 {
		w.heard.Store(int64(time.Since(w.opened)))
	}
	return n, err
}

var errStranger = errors.New("it does not answer as ZooKeeper does; is the port right, and TLS set as on the server?")

// greet reads the answer to the handshake: its length, a version, the timeout, the session.
func (w *wire) greet() ([]byte, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(w.Conn, head); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head)
	if n < 16 || n > 1<<10 {
		return nil, errStranger
	}
	answer := append(head, make([]byte, n)...)
	if _, err := io.ReadFull(w.Conn, answer[4:]); err != nil {
		return nil, err
	}
	timeout := time.Duration(int32(binary.BigEndian.Uint32(answer[8:]))) * time.Millisecond
	return answer, w.granted(int64(binary.BigEndian.Uint64(answer[12:])), timeout)
}

// closedEarly explains the end of a connection before the server said anything.
func closedEarly(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("the server closed the connection before the handshake: it may have reached maxClientCnxns, "+
			"the most connections that it accepts from one address, or not be serving: %w", err)
	}
	return err
}
