package netfault

import (
	"errors"
	"os"
	"time"
)

// pump delivers the queue to dst, as the faults allow, until the link ends.
func (p *pipe) pump() {
	for {
		data, wait := p.next()
		if data != nil {
			n, err := p.dst.Write(data)
			p.wrote(n, err)
			continue
		}
		var due <-chan time.Time
		if wait > 0 {
			due = time.After(wait)
		}
		// Whatever can change what next returns pokes, ends the link, or is the
		// time that next has named.
		select {
		case <-p.link.ctx.Done():
			return
		case <-p.pokePump:
		case <-due:
		}
	}
}

// next takes from the queue what can be dealt with without blocking. It returns
// bytes to write, to be followed by wrote, or else how long until the head is
// due, zero if no time is set.
func (p *pipe) next() (data []byte, wait time.Duration) {
	h := p.link.proxy.hub
	h.Lock()
	defer h.Unlock()
	f := &p.link.proxy.faults
	for len(p.queue) > 0 {
		head := p.queue[0]
		due := time.Until(head.at.Add(f.delay[p.dir.index()]))
		switch {
		case f.frozen.has(p.dir), p.dst == nil:
			return nil, 0
		case due > 0:
			return nil, due
		case head.kind == chunk:
			p.writing = true
			p.springTrap()
			return head.data, 0
		case head.kind == fin:
			p.finish()
		case head.kind == rst:
			p.link.end(true)
		}
	}
	return nil, 0
}

// springTrap marks the link for DropNextReply. This is done before the request
// is written: after it the reply might be faster.
func (p *pipe) springTrap() {
	if t := p.link.proxy.faults.trap; p.dir == Up && t != nil && !t.sprung {
		t.sprung = true
		p.link.trapped = true
	}
}

// finish passes a FIN on.
func (p *pipe) finish() {
	p.queue = p.queue[1:]
	if err := p.dst.CloseWrite(); err != nil {
		p.fail()
		return
	}
	p.finished = true
	if p.other().finished {
		p.link.end(false)
	}
}

// fail gives dst up. Its peer is gone, of which src is to hear in its turn, as
// of all that comes from there.
func (p *pipe) fail() {
	p.broken = true
	p.settle()
	p.other().abort()
}

// wrote accounts for a write of the head that returned n and err.
func (p *pipe) wrote(n int, err error) {
	h := p.link.proxy.hub
	h.Lock()
	defer h.Unlock()
	p.writing = false
	p.flow.Forwarded += int64(n)
	if p.stopped != nil {
		close(p.stopped)
		p.stopped = nil
		_ = p.dst.SetWriteDeadline(time.Time{}) // fails only on a closed connection
	}
	if p.link.ctx.Err() != nil {
		// The end of the link has counted the whole item as dropped.
		p.flow.Dropped -= int64(n)
		return
	}
	h.notify()
	p.flow.Held -= int64(n)
	p.size -= n
	poke(p.pokeFill)
	if head := &p.queue[0]; n < len(head.data) {
		head.data = head.data[n:]
	} else {
		*head = item{}
		p.queue = p.queue[1:]
	}
	p.settle()
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		p.fail()
	}
}

// interrupt makes a write in flight return at once; the channel is closed when
// it has. It is nil if there is none. The caller holds the lock.
func (p *pipe) interrupt() <-chan struct{} {
	if p.writing && p.stopped == nil {
		p.stopped = make(chan struct{})
		_ = p.dst.SetWriteDeadline(time.Now()) // fails only on a closed connection, where Write returns anyway
	}
	return p.stopped
}
