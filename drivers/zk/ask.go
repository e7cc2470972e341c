package zk

import (
	"context"
	"encoding/binary"
	"io"
	"sync"
	"time"

	gozk "github.com/go-zookeeper/zk"
)

// asks are the requests that a wire makes itself. The library knows nothing of
// them.
type asks struct {
	mu      sync.Mutex
	closed  bool
	last    int32                   // xid
	pending map[int32]chan<- []byte // by xid; each has room for the one answer
}

// The xids of asks: below those of messages that nobody waits for an answer to.
// After the last they begin again; what had the first is long answered by then.
const (
	firstAsk = xidBye - 1
	lastAsk  = -1 << 30
)

// begin returns the xid of a request, and where the answer to it will come:
// its body, or nothing, if there is none or one that is an error.
func (a *asks) begin() (xid int32, answer <-chan []byte) {
	c := make(chan []byte, 1)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		close(c)
		return 0, c
	}
	if a.last--; a.last > firstAsk || a.last < lastAsk {
		a.last = firstAsk
	}
	if a.pending == nil {
		a.pending = make(map[int32]chan<- []byte)
	}
	a.pending[a.last] = c
	return a.last, c
}

// end forgets a request.
func (a *asks) end(xid int32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pending, xid)
}

// answered takes an answer: the body, or nil.
func (a *asks) answered(xid int32, body []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.pending[xid]
	delete(a.pending, xid)
	switch {
	case c == nil: // nobody waits for it any more
	case body == nil:
		close(c)
	default:
		c <- body
	}
}

// close ends all requests: the connection is lost.
func (a *asks) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for _, c := range a.pending {
		close(c)
	}
	clear(a.pending)
}

// names reads the names in a directory. Whoever waits in a long line reads them
// between another's release and his own grant. So the request does without the
// library, which hands it through four goroutines and makes each name on its own,
// by reflection. When that gives no list by half of the limit, the library gets
// the other half: it knows what the matter is.
func (l *link) names(ctx context.Context, o op, path string) (listing, error) {
	o.limit /= 2
	if ls, ok := l.readNames(ctx, o.limit, path); ok {
		return ls, nil
	}
	return l.children(ctx, o, path)
}

func (l *link) readNames(ctx context.Context, limit time.Duration, path string) (listing, bool) {
	w := l.current()
	if w == nil || ctx.Err() != nil {
		return listing{}, false
	}
	xid, answer := w.asks.begin()
	defer w.asks.end(xid)
	sent := time.Now()
	if !l.send(w, message(xid, opGetChildren2, path, false)) {
		return listing{}, false
	}
	late := time.NewTimer(min(l.timing.silent, limit))
	defer late.Stop()
	// If more than one is ready, any will do: what follows finds out about the
	// others.
	select {
	case body, ok := <-answer:
		if ok {
			return readListing(body)
		}
	case <-l.over:
	case <-ctx.Done():
	case <-late.C:
		if w.silentSince(sent) {
			w.drop("it is silent")
		}
	}
	return listing{}, false
}

// told takes note of the zxid that came with an answer.
func (l *link) told(zxid int64) {
	for {
		last := l.zxid.Load()
		if zxid <= last || l.zxid.CompareAndSwap(last, zxid) {
			return
		}
	}
}

// send sends a message, on a goroutine that the link owns: it may have to wait
// for its turn, and for the network. It reports false if there is no session to
// send it in.
func (l *link) send(w *wire, message []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.up || l.why != nil || l.wire != w {
		return false
	}
	l.calls.Go(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if _, err := w.Conn.Write(message); err != nil {
			w.drop("it takes no message")
		}
	})
	return true
}

// readListing reads the answer to a request for names: how many there are, each
// with its length, and the directory's stat.
func readListing(body []byte) (listing, bool) {
	r := reader{rest: string(body)} // of which the names are parts
	ls := listing{shared: true}
	ls.names = make([]string, max(min(int(r.int32()), len(body)/4), 0))
	for i := range ls.names {
		ls.names[i] = r.part(r.int32())
	}
	ls.stat = gozk.Stat{
		Czxid: r.int64(), Mzxid: r.int64(), Ctime: r.int64(), Mtime: r.int64(),
		Version: r.int32(), Cversion: r.int32(), Aversion: r.int32(),
		EphemeralOwner: r.int64(), DataLength: r.int32(), NumChildren: r.int32(),
		Pzxid: r.int64(),
	}
	return ls, !r.short && r.rest == ""
}

// reader takes a message apart.
type reader struct {
	rest  string
	short bool // it ended too early
}

// part returns the next n bytes.
func (r *reader) part(n int32) string {
	if n < 0 || int(n) > len(r.rest) {
		r.rest, r.short = "", true
		return ""
	}
	part := r.rest[:n]
	r.rest = r.rest[n:]
	return part
}

func (r *reader) number(size int32) (n uint64) {
	for _, b := range []byte(r.part(size)) {
		n = n<<8 | uint64(b)
	}
	return n
}

func (r *reader) int32() int32 { return int32(r.number(4)) }
func (r *reader) int64() int64 { return int64(r.number(8)) }

// intercept takes the answers to asks out of what the server says, up to the next
// message that is the library's.
func (w *wire) intercept() error {
	for w.frames.between() {
		if w.in.Buffered() == 0 {
			w.link.watches.tell() // all that came has been handed on
		}
		head, err := w.in.Peek(headLength)
		if err != nil {
			return err
		}
		xid := int32(binary.BigEndian.Uint32(head[4:]))
		if xid > firstAsk || xid < lastAsk {
			return nil
		}
		zxid, code := int64(binary.BigEndian.Uint64(head[8:])), binary.BigEndian.Uint32(head[16:])
		body := make([]byte, max(4+int(binary.BigEndian.Uint32(head))-headLength, 0))
		if _, err := w.in.Discard(headLength); err != nil {
			return err
		}
		if _, err := io.ReadFull(w.in, body); err != nil {
			return err
		}
		w.heard.Store(int64(time.Since(w.opened)))
		w.link.told(zxid)
		if code != 0 {
			body = nil
		}
		w.asks.answered(xid, body)
	}
	return nil
}
