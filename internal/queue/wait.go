package queue

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// await returns nil when the entry holds. line is the one it joined.
func (e *Entry) await(ctx context.Context, line []driver.Node, req Request) error {
	var gate *Entry
	defer func() {
		if gate != nil { // let those behind know
			gate.discard()
		}
	}()
	var last, passed driver.Node // the blocker before, and the last that was ahead of one
	for {
		own, there := e.find(line)
		if !there {
			return e.whyGone(ctx)
		}
		v := e.queue.rule(line, own)
		if v.Refused != nil {
			return v.Refused
		}
		if !v.Blocked {
			break
		}
		if !e.waited {
			e.waited = true
			if req.Waiting != nil {
				if err := e.Write(ctx, req.Waiting); err != nil {
					return err
				}
			}
		}
		if req.Gate && gate == nil {
			// To wait for a blocker is right for as long as it is there, whatever
			// else changes meanwhile. Who has none to wait for looks again: the line
			// may have moved.
			see := unseen
			if v.Blocker.Key == "" {
				see = byRule
			}
			var now []driver.Node
			var err error
			if gate, now, err = e.putUpGate(ctx, see); err != nil {
				return err
			}
			if see != unseen {
				line = now
				continue
			}
		}
		if v.Blocker.Key == "" {
			var err error
			if line, err = e.follow(ctx); err != nil {
				return err
			}
			continue
		}
		if v.Blocker.Same(last) {
			// It is gone, and a listing that is behind still shows it.
			if err := e.pause(ctx); err != nil {
				return err
			}
		}
		var granted, moved bool
		var err error
		if e.looksAhead(v, line, own) && !line[own-2].Same(passed) {
			passed = line[own-2]
			moved, granted, err = e.outliveEither(ctx, v, passed)
		} else {
			granted, err = e.outlive(ctx, v)
		}
		if err != nil {
			return err
		}
		if moved {
			last = driver.Node{}
		} else {
			last = v.Blocker
			if granted || e.first(ctx) {
				break
			}
		}
		if line, err = e.look(ctx); err != nil {
			return err
		}
	}
	return e.grant()
}

// grant makes the entry a holder, unless its session or its node is known to
// be gone. Being next in line is not enough: the line moves also when one's own
// entry does not exist any more.
func (e *Entry) grant() error {
	if err := e.over(); err != nil {
		return err
	}
	e.granted.Store(true)
	e.guardAmong(&e.roster.holding)
	return nil
}

// first reports whether the entry is known to be the first of its line, which
// where the driver can tell costs less than to look at all of it. An error is left
// to the look.
func (e *Entry) first(ctx context.Context) bool {
	t, ok := driver.As[driver.FirstTeller](e.session.Driver())
	if !ok || !e.queue.firstHolds {
		return false
	}
	first, err := t.First(ctx, e.node)
	return err == nil && first
}

// look lists the line again: the one read of a handoff that was not certain. If the
// store is away the entry keeps its place, for as long as the session lives.
func (e *Entry) look(ctx context.Context) ([]driver.Node, error) {
	var nodes []driver.Node
	err := e.session.Retry(ctx, func(ctx context.Context) (err error) {
		nodes, err = e.queue.see(ctx, e.session.Driver(), e.dir)
		return err
	})
	return nodes, err
}

// outlive waits until the blocker is gone, and reports whether that was the
// grant.
func (e *Entry) outlive(ctx context.Context, v Verdict) (granted bool, _ error) {
	if p := e.roster.find(v.Blocker.Key, v.Blocker.Token); p != nil {
		return e.outliveLocal(ctx, v, p)
	}
	caps := e.queue.client.Caps()
	if fast, ok := driver.As[driver.AnyWaiter](e.session.Driver()); ok && (v.Last || caps.Has(driver.CapWaitBoth)) {
		// Whoever empties the whole line takes our place with our blocker's:
		// asking for both, ours first, tells that from a grant. Where the line
		// will be looked at anyway the answer need not wait for that, and, where
		// it costs something, the guard does as well.
		both, own := []driver.Node{e.node, v.Blocker}, 0
		if !v.Last {
			both, own = []driver.Node{v.Blocker, e.node}, 1
		}
		i, err := fast.WaitAny(ctx, both)
		if err == nil && i == own {
			return false, e.whyGone(ctx)
		}
		if v.Last && !caps.Has(driver.CapWaitFirst) {
			e.guardNow() // the news of our own entry may come right behind
		}
		return e.outlived(ctx, v, err)
	}
	if v.Last {
		e.guardAmong(&e.roster.holding) // nobody looks again
	} else {
		e.guardAmong(&e.roster.waiting)
	}
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	e.wakeWith(cancel)
	defer e.wakeWith(nil)
	return e.outlived(ctx, v, e.session.Driver().WaitDelete(wait, v.Blocker))
}

// whyGone says why the entry is gone, within what time the caller has.
func (e *Entry) whyGone(ctx context.Context) error {
	if !e.session.Go(func(context.Context) { e.vanishUnasked() }) {
		return e.session.Err()
	}
	select {
	case <-e.whenGone():
		return e.over()
	case <-e.session.Done():
		return e.session.Err()
	case <-ctx.Done(): // the answer will not change that the place is lost
		return driver.ContextError(ctx)
	}
}

// outlived judges the end of a wait for the blocker.
func (e *Entry) outlived(ctx context.Context, v Verdict, err error) (granted bool, _ error) {
	if err == nil {
		return v.Last, nil
	}
	if over := e.over(); over != nil {
		return false, over // which is what ended the wait, whatever it says
	}
	if ctx.Err() != nil {
		return false, driver.ContextError(ctx)
	}
	if driver.Transient(err) {
		return false, nil // look again, and pause if nothing has changed
	}
	return false, err
}

// pause lets the store breathe before what did not help is done again.
func (e *Entry) pause(ctx context.Context) error {
	timer := time.NewTimer(breath/2 + rand.N(breath))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-e.session.Done():
		return e.session.Err()
	case <-ctx.Done():
		return driver.ContextError(ctx)
	}
}

const breath = 100 * time.Millisecond

// wakeWith sets what ends the wait under way when the entry vanishes.
func (e *Entry) wakeWith(cancel context.CancelFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wake = cancel
	if e.removed != nil && cancel != nil { // just before
		cancel()
	}
}

// outliveLocal waits for an entry of this process and session. Its end is
// known here as soon as the store has acknowledged it, with no watch and no
// request.
func (e *Entry) outliveLocal(ctx context.Context, v Verdict, p *Entry) (bool, error) {
	// Whoever is granted by that has asked nobody whether the own entry is there.
	e.guardAmong(&e.roster.holding)
	select {
	case <-p.whenGone():
		// p sets granted before it can leave. If somebody else removed it, our
		// own may be gone with it: then look. If it was traded, something stands
		// in its place.
		return p.wasRemoved() == nil && (v.Last || v.Exclusive && p.granted.Load() && !p.wasTraded()), nil
	case <-e.whenGone(): // deleted by somebody else: e does not leave while it waits
		return false, e.over()
	case <-e.session.Done():
		return false, e.session.Err()
	case <-ctx.Done():
		return false, driver.ContextError(ctx)
	}
}
