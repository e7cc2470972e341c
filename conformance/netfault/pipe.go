package netfault

import (
	"errors"
	"io"
	"time"
)

const (
	// window bounds the bytes that one pipe holds: enough for a delayed link to
	// be fast, little enough that a sender on a frozen one soon feels it.
	window = 1 << 20
	// chunkSize is the most that is read at once, and by how much window may be
	// exceeded.
	chunkSize = 32 << 10
)

// pipe is one direction of a link. One goroutine (fill) reads from src into the
// queue, another (pump) takes from it and writes to dst. All faults are at the
// pump's side, so that whatever the proxy has read is subject to those that are
// on when it would leave.
type pipe struct {
	link *link
	dir  Direction
	flow *Flow // of the whole proxy

	// A token in either says that something may have changed for that
	// goroutine since it last looked.
	pokeFill, pokePump chan struct{}

	// Guarded by the hub's lock. src and dst are set once, before fill starts
	// and before pump writes, which may use them without it.
	src, dst stream
	queue    []item
	size     int           // bytes in queue
	ended    bool          // src has ended its stream, by FIN or by reset
	aborted  bool          // a reset is in the queue or gone through
	finished bool          // a FIN was passed on to dst
	broken   bool          // dst is gone: what is left is discarded
	writing  bool          // pump is writing the head of the queue
	stopped  chan struct{} // closed when the interrupted write has returned; nil if none is
}

// item is a thing in a stream: bytes, or how the stream ends.
type item struct {
	kind itemKind
	data []byte
	at   time.Time // when it was read
}

type itemKind uint8

const (
	chunk itemKind = iota
	fin
	rst
)

func newPipe(l *link, d Direction) *pipe {
	return &pipe{
		link:     l,
		dir:      d,
		flow:     &l.proxy.flows[d.index()],
		pokeFill: make(chan struct{}, 1),
		pokePump: make(chan struct{}, 1),
	}
}

// poke makes the goroutine that waits on token look again. It never blocks: a
// token that is already there serves as well.
func poke(token chan<- struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}

// other is the opposite direction of the same link.
func (p *pipe) other() *pipe {
	if p.dir == Up {
		return p.link.down
	}
	return p.link.up
}

// fill reads src until its stream or the link ends.
func (p *pipe) fill() {
	buf := make([]byte, chunkSize)
	for p.waitRoom() {
		n, err := p.src.Read(buf)
		if !p.put(buf[:n], err) {
			return
		}
	}
}

// waitRoom waits until the queue has room. Not reading while it has none is
// what lets the sender feel backpressure. It reports false if the link has
// ended.
func (p *pipe) waitRoom() bool {
	h := p.link.proxy.hub
	for {
		h.Lock()
		full := p.size >= window
		h.Unlock()
		if !full {
			return true
		}
		// pump pokes after it has made room, so none is missed.
		select {
		case <-p.link.ctx.Done():
			return false
		case <-p.pokeFill:
		}
	}
}

// put appends what a read returned and reports whether to read on.
func (p *pipe) put(data []byte, err error) bool {
	h := p.link.proxy.hub
	h.Lock()
	defer h.Unlock()
	if p.link.ctx.Err() != nil {
		return false
	}
	defer h.notify()
	p.flow.Received += int64(len(data))
	if len(data) > 0 && p.dir == Down && p.link.trapped {
		p.flow.Reads++
		p.flow.Dropped += int64(len(data))
		p.abort()
		return false
	}
	if len(data) > 0 {
		p.flow.Reads++
		p.flow.Held += int64(len(data))
		p.size += len(data)
		p.push(item{kind: chunk, data: append([]byte(nil), data...)})
	}
	switch {
	case err == nil:
		return true
	case errors.Is(err, io.EOF):
		p.push(item{kind: fin})
	default:
		p.abort()
	}
	p.ended = true
	return false
}

func (p *pipe) push(i item) {
	i.at = time.Now()
	p.queue = append(p.queue, i)
	p.settle()
	poke(p.pokePump)
}

// settle discards the queue if it can no longer be delivered. It is called with
// whatever makes that so, not left to the pump, so that what is lost is lost
// when the verb, or the counter that tells of it, is seen. The head that is
// being written is the pump's: wrote settles after it. The caller holds the
// lock.
func (p *pipe) settle() {
	holed := p.link.proxy.faults.holed.has(p.dir)
	for len(p.queue) > 0 && !p.writing && (p.broken || holed) {
		p.link.lossy = p.link.lossy || holed
		p.drop()
	}
}

// drop discards the head of the queue.
func (p *pipe) drop() {
	n := len(p.queue[0].data)
	p.queue[0] = item{}
	p.queue = p.queue[1:]
	p.size -= n
	p.flow.Held -= int64(n)
	p.flow.Dropped += int64(n)
	poke(p.pokeFill)
	p.link.proxy.hub.notify()
}

// clear discards the whole queue.
func (p *pipe) clear() {
	for len(p.queue) > 0 {
		p.drop()
	}
}

// abort makes dst be reset once all that is queued before is delivered. The
// caller holds the lock.
func (p *pipe) abort() {
	if !p.aborted && p.link.ctx.Err() == nil {
		p.aborted = true
		p.push(item{kind: rst})
	}
}
