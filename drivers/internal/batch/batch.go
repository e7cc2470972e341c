// Package batch has requests that are made at the same time share one, for
// drivers.
//
// A store spends on a small write little for what it says and much for its being
// a request, a proposal and a sync of the log. So while as many requests are under
// way as are worth having, further ones are collected, and when one of those is
// answered, those that have come meanwhile go as one. It is the group commit by
// which databases write their logs (DeWitt et al., Implementation techniques for
// main memory database systems, 1984). Nobody waits for others to come: who is
// alone is sent at once and alone.
package batch

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Group is the requests of a connection that may share. Its fields are set before
// it is used. It is safe for concurrent use.
type Group[R any] struct {
	// Limit is how many requests are under way at a time, shared ones and others.
	Limit int

	// Most is how many share one at most.
	Most int

	// Fits reports whether r may share a request with those of a batch, which is
	// not empty. It must not block.
	Fits func(batch []R, r R) bool

	// Patience, if it is not 0, is how long a request waits for its turn before one
	// more than the limit is sent: those under way may be with a server that does not
	// answer, and others may.
	Patience time.Duration

	// Send makes one request of several, and tells each of them what came of it. It
	// is called on a goroutine of the group, which Close waits for.
	Send func(batch []R)

	mu      sync.Mutex
	flying  int
	waiting []*place[R]
	closed  bool
	sending sync.WaitGroup
}

// place is where a request waits.
type place[R any] struct {
	request R
	turn    chan bool // has room for the one answer: is it sent alone?
}

// Alone makes a request if it need not wait for others to be answered, and reports
// whether it did. Do does the same; who looks first may spare what only waiting
// needs.
func (g *Group[R]) Alone(request func()) bool {
	g.mu.Lock()
	room := g.flying < g.Limit
	if room {
		g.flying++
	}
	g.mu.Unlock()
	if room {
		g.send(request)
	}
	return room
}

// Do has a request sent. If it is not to share, that is by alone, which the
// caller's goroutine runs. Do returns true when alone has returned, or when the
// request was handed to Send, which tells what comes of it. If ctx ends before, it
// returns false, and the request is not sent and never will be. A ctx that has
// ended when its turn comes may go either way.
func (g *Group[R]) Do(ctx context.Context, r R, alone func()) bool {
	g.mu.Lock()
	if g.flying < g.Limit {
		g.flying++
		g.mu.Unlock()
		g.send(alone)
		return true
	}
	p := &place[R]{r, make(chan bool, 1)}
	g.waiting = append(g.waiting, p)
	g.mu.Unlock()

	if g.Patience > 0 {
		// When it fires a place is made for the first who wait, of whom this one
		// is nearly always one; if not, they have waited longer.
		timer := time.AfterFunc(g.Patience, func() { g.exceed(p) })
		defer timer.Stop()
	}
	single := false
	select {
	case single = <-p.turn:
	case <-ctx.Done():
		if g.leave(p) {
			return false
		}
		single = <-p.turn // which is there: it has come in this moment
	}
	if single {
		g.send(alone)
	}
	return true
}

// send makes a request that has been counted. The next ones go also when it
// panics.
func (g *Group[R]) send(request func()) {
	defer g.next()
	request()
}

// exceed sends one more than the limit, and so on until a request that waits for too
// long is among them.
func (g *Group[R]) exceed(p *place[R]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for slices.Contains(g.waiting, p) {
		g.flying++
		g.pass()
	}
}

// leave takes a request back. It reports false if its turn has come.
func (g *Group[R]) leave(p *place[R]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, p)
	if i < 0 {
		return false
	}
	g.waiting = slices.Delete(g.waiting, i, i+1)
	return true
}

// next passes on the place of a request that has been answered.
func (g *Group[R]) next() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.flying > g.Limit {
		g.flying--
		return
	}
	g.pass()
}

// pass gives a place, which is counted, to those who go next. The caller holds the
// lock.
func (g *Group[R]) pass() {
	batch := g.take()
	switch {
	case len(batch) == 0:
		g.flying--
	case len(batch) == 1 || g.closed: // what is to fail does so by itself
		for i, p := range batch {
			if i > 0 {
				g.flying++
			}
			p.turn <- true
		}
	default:
		requests := make([]R, len(batch))
		for i, p := range batch {
			requests[i] = p.request
			p.turn <- false
		}
		g.sending.Go(func() {
			defer g.next()
			g.Send(requests)
		})
	}
}

// take removes those who go next from the waiting: the first, and whoever fits to
// it, in their order. The caller holds the lock.
func (g *Group[R]) take() (batch []*place[R]) {
	var requests []R
	left := g.waiting[:0]
	for i, p := range g.waiting {
		if len(batch) == g.Most {
			left = append(left, g.waiting[i:]...)
			break
		}
		if len(batch) == 0 || g.Fits(requests, p.request) {
			batch, requests = append(batch, p), append(requests, p.request)
		} else {
			left = append(left, p)
		}
	}
	clear(g.waiting[len(left):])
	g.waiting = left
	return batch
}

// Waiting is how many wait for their turn.
func (g *Group[R]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

// Close ends the sharing, and returns when no shared request is under way any
// more: before it, the caller makes Send return. Requests that are made afterwards
// are sent alone.
func (g *Group[R]) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.sending.Wait()
}
