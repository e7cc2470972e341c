package zk

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	gozk "github.com/go-zookeeper/zk"
	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord/driver"
)

// wire is a connection to a server as the library sees it. It passes on what
// the library sends and what the server says, and has a hand in a few messages,
// for what cannot be had of the library otherwise:
//
//   - It reads the timeout that the server grants, which the library keeps to
//     itself, and lets no other session through than the link's own.
//   - It sends the credentials. The library's own way to send them again can
//     block it for ever when the connection breaks meanwhile.
//   - It ends the session, as often as it takes.
//   - It makes watches of reads (see sights), and takes watches back, for which
//     the library has no request. The library would keep a watch and set it
//     again after each reconnect, with a race on the zxid it has seen.
//   - It holds back the pings of a link that is retired, so that the store ends
//     the session when its timeout has passed.
//   - It carries the requests that the library is slow at (see exchange), and takes
//     the events of watches.
//   - It tells when the server said something last, and when all that it said
//     has been handed on.
type wire struct {
	net.Conn
	link   *link
	host   string
	opened time.Time

	// Of the reading side, which is one goroutine at a time.
	in      *bufio.Reader
	greeted bool
	first   []byte // what is left of the answer to the handshake
	frames  scanner

	asks asks // has its own lock

	heard atomic.Int64 // when something was read last, as time since opened
	hurry *time.Timer  // ends a handshake that takes too long

	raw syscall.RawConn // of a connection to which messages can be written as they are; nil: not this one

	mu     sync.Mutex // serializes messages
	joined bool       // the first message was sent
}

// The operations and numbers of messages that a wire has a hand in, as in
// ZooKeeper's ZooDefs.OpCode, Watcher.WatcherType and ClientCnxn.
const (
	opError         = -1
	opCreate        = 1
	opDelete        = 2
	opPing          = 11
	opExists        = 3
	opGetData       = 4
	opGetChildren2  = 12
	opCheck         = 13
	opMulti         = 14
	opRemoveWatches = 18
	opCloseSession  = -11
	opAuth          = 100

	xidEvent = -1
	xidPing  = -2
	xidAuth  = -4
	// These are ours: below those with a meaning, so that no request of the
	// library has them. The library ignores the answers.
	xidRemove = -1 << 16
	xidBye    = xidRemove - 1

	watcherChildren = 1
	watcherAny      = 3
)

func newWire(l *link, conn net.Conn, host string, limit time.Duration) *wire {
	w := &wire{Conn: conn, link: l, host: host, opened: time.Now(), in: bufio.NewReaderSize(conn, 32<<10)}
	w.frames.each = w.answered
	if tcp, ok := conn.(*net.TCPConn); ok {
		w.raw, _ = tcp.SyscallConn() // it fails when it is closed
	}
	w.hurry = time.AfterFunc(limit, func() { _ = conn.Close() })
	return w
}

// Close implements net.Conn.
func (w *wire) Close() error {
	w.hurry.Stop()
	err := w.Conn.Close()
	w.asks.close()
	return err
}

// drop has the library connect anew. w may be nil.
func (w *wire) drop(why string) {
	if w == nil {
		return
	}
	if w.Close() == nil { // an error says that it was closed before
		w.link.log.Debug("leaving a server", zap.String("host", w.host), zap.String("why", why))
	}
}

// Write implements net.Conn. The library writes one message at a time.
func (w *wire) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.joined {
		w.joined = true
		w.link.mu.Lock()
		w.link.asked = true
		w.link.mu.Unlock()
		if _, err := w.Conn.Write(append(w.handshake(b), w.credentials()...)); err != nil {
			return 0, err
		}
		return len(b), nil
	}
	if len(b) >= 12 {
		switch int32(binary.BigEndian.Uint32(b[8:])) {
		case opPing:
			if w.link.ended() != nil {
				return len(b), nil
			}
		case opExists, opGetData, opGetChildren2: // path, then a byte that says whether to watch
			if last := len(b) - 1; w.link.sights.wants(string(b[16:last])) {
				_, err := w.Conn.Write(append(b[:last:last], 1))
				return len(b), err
			}
		}
	}
	return w.Conn.Write(b)
}

// begin writes as much of some messages as the connection takes at once, and
// returns the rest. The caller has the turn.
func (w *wire) begin(messages []byte) (rest []byte) {
	if w.raw == nil {
		return messages
	}
	n, err := writeNow(w.raw, messages)
	if err != nil {
		w.drop("it takes no message")
		return nil
	}
	return messages[n:]
}

// handshake is the library's request for a session: its version, the last zxid
// that the session has seen, so that it gets to no server that is behind that,
// and more. The library knows nothing of what was asked for without it.
func (w *wire) handshake(b []byte) []byte {
	b = slices.Clone(b)
	if len(b) >= 16 {
		binary.BigEndian.PutUint64(b[8:], max(binary.BigEndian.Uint64(b[8:]), w.link.seen.Load()))
	}
	return b
}

// credentials is the message that says who we are, if we are somebody.
func (w *wire) credentials() []byte {
	if w.link.peers.digest == nil {
		return nil
	}
	return message(xidAuth, opAuth, int32(0), "digest", string(w.link.peers.digest))
}

// forget has the server remove the watch of a path.
func (w *wire) forget(path string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.Conn.Write(message(xidRemove, opRemoveWatches, path, int32(watcherChildren)))
	return err
}

// overlook has the server remove the watches of a directory, unless somebody has
// begun to look at it again: whoever does so after this asks for new ones.
func (w *wire) overlook(h *sights, path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !h.wants(path) {
		_, _ = w.Conn.Write(message(xidRemove, opRemoveWatches, path, int32(watcherAny))) // if it is lost, so is the connection
	}
}

// errParted is the end of a session that was asked for.
var errParted = errors.New("the session was closed")

// bye has the server end the session.
func (w *wire) bye() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.Conn.Write(message(xidBye, opCloseSession)) // if it is lost, so is the connection
}

// Read implements net.Conn.
func (w *wire) Read(b []byte) (int, error) {
	if !w.greeted {
		if err := w.greet(); err != nil {
			w.link.failing(w.host, err)
			return 0, err
		}
	}
	if len(w.first) > 0 {
		n := copy(b, w.first)
		w.first = w.first[n:]
		return n, nil
	}
	if err := w.intercept(); err != nil {
		return 0, err
	}
	if w.in.Buffered() == 0 {
		w.link.watches.tell() // all that came has been handed on
	}
	n, err := w.in.Read(b)
	if n > 0 {
		w.heard.Store(int64(time.Since(w.opened)))
		w.frames.scan(b[:n])
	}
	return n, err
}

// errStranger is never seen unless a server is not one.
var errStranger = errors.New("the answer is not one of ZooKeeper")

// greet reads the answer to the handshake: its version, the timeout in
// milliseconds, the session, and more that is the library's business. A session
// that the server does not know gets 0 for both.
func (w *wire) greet() error {
	head := make([]byte, 4)
	if _, err := io.ReadFull(w.in, head); err != nil {
		return fmt.Errorf("no answer to the handshake: %w", err)
	}
	n := binary.BigEndian.Uint32(head)
	if n < 16 || n > 1<<10 {
		return errStranger
	}
	w.first = append(head, make([]byte, n)...)
	if _, err := io.ReadFull(w.in, w.first[4:]); err != nil {
		return fmt.Errorf("no answer to the handshake: %w", err)
	}
	w.hurry.Stop()
	w.greeted = true
	w.heard.Store(int64(time.Since(w.opened)))
	timeout := time.Duration(int32(binary.BigEndian.Uint32(w.first[8:]))) * time.Millisecond
	return w.link.accept(int64(binary.BigEndian.Uint64(w.first[12:])), timeout, w.opened)
}

// accept takes note of what a server grants, and refuses what is not the link's
// session. To say farewell, any timeout will do.
func (l *link) accept(session int64, timeout time.Duration, asked time.Time) error {
	l.mu.Lock()
	switch {
	case session == 0: // which the library makes an event of
		l.mu.Unlock()
		return nil
	case l.session == 0:
		l.session, l.granted, l.begun = session, timeout, asked
		l.mu.Unlock()
		return nil
	case l.session == session && (l.granted == timeout || l.parting):
		l.mu.Unlock()
		return nil
	}
	err := fmt.Errorf("a server has session %016x with a timeout of %v instead of %016x with %v",
		uint64(session), timeout, uint64(l.session), l.granted)
	l.granted = max(l.granted, timeout)
	l.mu.Unlock()
	l.lose(err)
	return err
}

// answered takes note of an answer.
func (w *wire) answered(xid, code int32) {
	switch {
	case xid == xidAuth && code != 0:
		w.link.lose(fmt.Errorf("%s: %w: %w", w.host, driver.ErrDenied, gozk.ErrAuthFailed))
	case xid == xidBye: // an error says that it was over before
		w.link.expire(errParted)
	}
}

// silentSince reports whether nothing was heard since a time when the wire was
// already open.
func (w *wire) silentSince(t time.Time) bool {
	sent := t.Sub(w.opened)
	return sent > 0 && time.Duration(w.heard.Load()) < sent
}
