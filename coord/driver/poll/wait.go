package poll

import (
	"context"
	"slices"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// wait is a Wait or a Changed under way.
type wait struct {
	nodes []driver.Node // that may go
	dir   string        // that may change; empty: none
	stamp string        // that dir had

	ended chan struct{} // closed when it has come true, or err is set
	gone  int           // which of the nodes
	err   error
}

// Wait returns the index of one of the nodes that is gone as soon as there is one. It
// returns an error when ctx ends, and what Look has returned if that is not transient. A
// caller makes it by sessions.Session.Do, with an Op without a limit, which ends it with
// the session. To wait for no nodes is an error that Is driver.ErrInvalid.
func (p *Poll) Wait(ctx context.Context, nodes ...driver.Node) (int, error) {
	if len(nodes) == 0 {
		return 0, &driver.Error{Op: "wait", Store: p.cfg.Store, Kind: driver.ErrInvalid, Err: errNothing}
	}
	w := &wait{nodes: slices.Clone(nodes)}
	err := p.wait(ctx, w)
	return w.gone, err
}

// Changed returns nil once dir has another stamp than the one given. It returns errors as
// Wait does.
func (p *Poll) Changed(ctx context.Context, dir, stamp string) error {
	return p.wait(ctx, &wait{dir: dir, stamp: stamp})
}

func (p *Poll) wait(ctx context.Context, w *wait) error {
	w.ended = make(chan struct{})
	if !p.join(w) {
		return &driver.Error{Op: "wait", Store: p.cfg.Store, Kind: driver.ErrClosed}
	}
	select {
	case <-w.ended: // if ctx has ended too, an answer is worth more
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		if _, waiting := p.waits[w]; waiting {
			delete(p.waits, w)
			return ctx.Err()
		}
	}
	return w.err
}

// join adds a wait, and starts the goroutine if it is the first. It reports whether the
// keeper still takes one.
func (p *Poll) join(w *wait) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running {
		if !p.cfg.Keeper.Go(p.run) {
			return false
		}
		p.running = true
		p.active = time.Now()
	}
	p.waits[w] = struct{}{}
	p.look()
	return true
}

// Gone ends the waits for nodes that are known to be gone for good: those for which is
// returns true. No request is made. is must not call methods of p.
func (p *Poll) Gone(is func(driver.Node) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.waits {
		if i := slices.IndexFunc(w.nodes, is); i >= 0 {
			p.endLocked(w, i, nil)
		}
	}
}
