package zk

import (
	"encoding/binary"
	"io"
	"sync"
	"time"

	gozk "github.com/go-zookeeper/zk"
)

// asks are the requests that a wire carries and the library knows nothing of.
type asks struct {
	mu      sync.Mutex
	closed  bool
	last    int32                   // xid
	pending map[int32]chan<- answer // by xid; each has room for all that it may get
}

// The xids of asks: below those of messages that nobody waits for an answer to.
// After the last they begin again; what had the first is long answered by then.
const (
	firstAsk = xidBye - 1
	lastAsk  = -1 << 30
)

// begin returns the xid of the first of n requests, from which the others count
// down, and where the answers to them will come.
func (a *asks) begin(n int) (first int32, to <-chan answer) {
	c := make(chan answer, n)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		for range n {
			c <- answer{lost: true}
		}
		return 0, c
	}
	if a.last == 0 || a.last-int32(n) < lastAsk {
		a.last = firstAsk + 1
	}
	if a.pending == nil {
		a.pending = make(map[int32]chan<- answer)
	}
	first = a.last - 1
	for range n {
		a.last--
		a.pending[a.last] = c
	}
	return first, c
}

// end forgets n requests.
func (a *asks) end(first int32, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range n {
		delete(a.pending, first-int32(i))
	}
}

// answered takes an answer.
func (a *asks) answered(xid int32, it answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.pending[xid]; c != nil { // somebody still waits for it
		delete(a.pending, xid)
		c <- it
	}
}

// close ends all requests: the connection is lost.
func (a *asks) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for _, c := range a.pending {
		c <- answer{lost: true}
	}
	clear(a.pending)
}

// intercept takes the answers to asks, and events, out of what the server says, up
// to the next message that is the library's. The library knows of no watch: all are
// set without it. An event is what somebody waits for, and it would take its time.
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
		event := xid == xidEvent
		if !event && (xid > firstAsk || xid < lastAsk) {
			return nil
		}
		zxid, code := max(int64(binary.BigEndian.Uint64(head[8:])), 0), int32(binary.BigEndian.Uint32(head[16:]))
		length := 4 + int64(int32(binary.BigEndian.Uint32(head))) - headLength
		if length < 0 {
			return errStranger
		}
		body := make([]byte, length)
		if _, err := w.in.Discard(headLength); err != nil {
			return err
		}
		if _, err := io.ReadFull(w.in, body); err != nil {
			return err
		}
		w.heard.Store(int64(time.Since(w.opened)))
		if event {
			w.happened(body)
			continue
		}
		w.link.saw(uint64(zxid))
		w.asks.answered(xid, answer{code: code, zxid: uint64(zxid), body: body})
	}
	return nil
}

// happened takes an event: what happened, a state that is of no interest, and the
// path.
func (w *wire) happened(body []byte) {
	r := reader{rest: string(body)}
	what, _ := gozk.EventType(r.int32()), r.int32()
	if path := r.part(r.int32()); !r.short {
		w.link.happened(what, path)
	}
}
