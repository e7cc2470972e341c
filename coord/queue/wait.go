package queue

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/coordkit/coordkit/coord/driver"
)

// await returns nil when the entry holds. line is what the entry saw when it joined.
func (e *Entry) await(ctx context.Context, line []driver.Node, req Request) error {
	var gate *Entry
	defer func() {
		if gate != nil {
			gate.discard()
		}
	}()
	var err error
	var gone driver.Node // that the last wait has told of
	for looks := 0; ; looks++ {
		own := find(line, e.node)
		if own < 0 {
			return e.whyGone(ctx)
		}
		v := e.queue.rule(line, own)
		if looks == 0 {
			e.queue.contended.Store(v.Blocked)
		}
		if v.Refused != nil {
			return v.Refused
		}
		if !v.Blocked {
			e.grant()
			return nil
		}
		if !e.waited {
			e.waited = true
			if req.Waiting != nil {
				if err = e.Write(ctx, req.Waiting); err != nil {
					return err
				}
			}
		}
		if req.Gate && gate == nil && e.local.pin(e) { // a failure shows in the wait, if it matters
			gate, _, _ = e.queue.enter(ctx, e.session, e.dir, Request{Kind: gateKind, gateOf: e}, noLine)
		}
		if v.Blocker.Key == "" {
			if line, err = e.follow(ctx); err != nil {
				return err
			}
			continue
		}
		if v.Blocker.Same(gone) { // a list that is behind still shows it, or the wait broke
			if err = e.pause(ctx); err != nil {
				return err
			}
		}
		var granted bool
		if gone, granted, err = e.outlast(ctx, v, gone); err != nil {
			return err
		}
		if granted {
			e.grant()
			return nil
		}
		last := uint64(math.MaxUint64)
		if v.Before.Key != "" {
			last = e.node.Seq
		}
		if line, err = e.look(ctx, last); err != nil {
			return err
		}
	}
}

// outlast waits until the blocker is gone, or the entry before it. It returns the node that
// is gone, and whether that was the grant. last is gone already, whatever a list shows.
func (e *Entry) outlast(ctx context.Context, v Verdict, last driver.Node) (gone driver.Node, granted bool, err error) {
	within, cancel := e.within(ctx)
	defer cancel()
	defer e.local.giveUp(e)
	if p := e.local.await(v.Blocker, e, cancel); p != nil {
		return v.Blocker, e.outlastLocal(ctx, v, p), nil
	}
	nodes := []driver.Node{e.node, v.Blocker}
	if v.Before.Key != "" && !v.Before.Same(last) {
		nodes = append(nodes, v.Before)
	}
	i, err := e.waitAny(within, nodes)
	if err == nil {
		return nodes[i], v.Last && i == 1, nil
	}
	if p := e.local.await(v.Blocker, e, cancel); p != nil {
		return v.Blocker, e.outlastLocal(ctx, v, p), nil
	}
	if driver.Transient(err) { // the next list tells what has ended, if anything
		err = nil
	}
	return v.Blocker, false, err
}

// waitAny waits until one of the nodes is gone, and returns its index. A session that waits
// for one node waits for the blocker, nodes[1].
func (e *Entry) waitAny(ctx context.Context, nodes []driver.Node) (gone int, err error) {
	if s, ok := driver.As[driver.AnyWaiter](e.session.Driver()); ok {
		return s.WaitAny(ctx, nodes)
	}
	e.guardOwn()
	return 1, e.session.Driver().WaitDelete(ctx, nodes[1])
}

// outlastLocal waits for an entry of this process and session.
func (e *Entry) outlastLocal(ctx context.Context, v Verdict, p *Entry) (granted bool) {
	e.guardOwn() // nothing else looks whether the own node is there
	select {
	case <-p.gone:
		// If an operator removed p, the own node may be gone too. If p was replaced, its
		// successor is in the way.
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.removed == nil && (v.Last || v.Exclusive && p.granted && p.successor == nil)
	case <-e.gone:
	case <-e.session.Done():
	case <-ctx.Done():
	}
	return false
}

// follow watches the line until the rule lets the entry hold, refuses it, or names a
// blocker, or until the entry is not in the line, and returns the line as it then is.
func (e *Entry) follow(ctx context.Context) ([]driver.Node, error) {
	within, cancel := e.within(ctx)
	defer cancel()
	for line, err := range e.queue.client.Watch(within, e.dir) {
		if err != nil {
			return nil, cmp.Or(e.whyEnded(ctx), err)
		}
		own := find(line, e.node)
		if own < 0 { // no state is older than the creation
			return line, nil
		}
		if v := e.queue.rule(line, own); !v.Blocked || v.Refused != nil || v.Blocker.Key != "" {
			return line, nil
		}
	}
	return nil, cmp.Or(e.whyEnded(ctx), errWatchEnded)
}

var errWatchEnded = errors.New("the watch of the line has ended without an error")
