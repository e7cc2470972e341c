package netfault

import (
	"errors"
	"sync"
)

// Control is what a [Proxy] and a [Group] have in common: the fault verbs, the
// counters, the waits and Close. A Group's Control works on all its proxies at
// one instant, each proxy's own on that proxy alone, and both may be used
// together. A function that takes a *Control serves both.
//
// All methods are safe for concurrent use. The verbs do not wait for a peer and
// return promptly in whatever state the connections are; after Close they do
// nothing. A Control is had from New or NewGroup; the zero value is of no use.
type Control struct {
	hub     *hub
	proxies []*Proxy
}

// hub guards the state of all proxies of a group with one lock, so that a verb
// is one step for the whole group and a reader of counters sees one moment. It
// also tells waiters of each change. Nothing that can block on a peer is done
// under the lock.
type hub struct {
	sync.Mutex
	changed chan struct{} // closed by the next change; nil while nobody waits
}

// watch returns a channel that the next change closes. The caller holds the
// lock, hence no change falls between what it has read and the watch.
func (h *hub) watch() <-chan struct{} {
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return h.changed
}

// notify ends the watches. The caller holds the lock.
func (h *hub) notify() {
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// apply changes every proxy that is still open, as one step, and returns once
// the change is in force.
//
// A write in flight was begun under the old rules and might end at any later
// time, so it is interrupted: what it did not get rid of goes back to its queue
// and is looked at again under the new ones. An interrupted write returns at
// once, whatever its peer does, hence so does apply.
func (c *Control) apply(change func(*Proxy)) {
	var stopped []<-chan struct{}
	c.hub.Lock()
	for _, p := range c.proxies {
		if p.closed {
			continue
		}
		change(p)
		for l := range p.links {
			for _, pipe := range []*pipe{l.up, l.down} {
				if s := pipe.interrupt(); s != nil {
					stopped = append(stopped, s)
				}
				pipe.settle()
				poke(pipe.pokeFill)
				poke(pipe.pokePump)
			}
		}
	}
	c.hub.notify()
	c.hub.Unlock()
	for _, s := range stopped {
		<-s
	}
}

// Close stops listening, resets every connection, throws held bytes away and
// returns when no goroutine or connection of the proxy is left. It is prompt
// whatever fault is on, and may be called again, which returns nil. Errors are
// the operating system's on closing the listener.
func (c *Control) Close() error {
	var errs []error
	c.hub.Lock()
	for _, p := range c.proxies {
		if !p.closed {
			errs = append(errs, p.shut())
		}
	}
	c.hub.notify()
	c.hub.Unlock()
	for _, p := range c.proxies {
		p.running.Wait()
	}
	return errors.Join(errs...)
}
