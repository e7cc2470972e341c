package zk

import (
	"errors"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
)

// armLocked has watches asked for. The caller holds the lock.
func (h *watches) armLocked(all ...*watch) {
	for _, v := range all {
		v.state = arming
	}
	if !h.closed {
		h.running.Go(func() { h.arm(all) })
	}
}

// arm asks for watches, together at first, until the server has them, or the node
// is gone, or nobody waits.
func (h *watches) arm(all []*watch) {
	for i, it := range h.ask(all) {
		v := all[i]
		if again, doubt := h.armedOrNot(v, it); again {
			h.running.Go(func() { h.insist(v, it.err, doubt) })
		}
	}
}

// sighting is what the request for a watch has found.
type sighting struct {
	on    *wire  // by which it came
	at    uint64 // the zxid that the server had seen
	owner int64  // whom the node belongs to
	err   error
}

// ask asks for watches once.
func (h *watches) ask(all []*watch) []sighting {
	found := make([]sighting, len(all))
	requests := make([][]byte, len(all))
	for i, v := range all {
		requests[i] = request(opGetChildren2, v.path, true)
	}
	answers, on, err := h.link.exchangeAll(h.ctx, h.op(all[0]), requests...)
	for i, v := range all {
		it := sighting{on: on, err: err}
		if err == nil {
			var ls listing
			ls, it.err = h.link.listingOf(h.ctx, h.op(v), on, answers[i])
			it.at, it.owner = answers[i].zxid, ls.stat.EphemeralOwner
		}
		found[i] = it
	}
	return found
}

func (h *watches) op(v *watch) op {
	return op{name: "wait", key: v.path, limit: h.link.timing.attempt}
}

// insist goes on to ask for a watch. why is what became of the last time; see
// armedOrNot for the doubt.
func (h *watches) insist(v *watch, why error, doubt uint64) {
	var agreed uint64
	for again := true; again; {
		if doubt > 0 {
			// The server may not have heard of the node yet.
			if why = agree(h.ctx, h.link, h.op(v)); why == nil {
				agreed = doubt
			}
		}
		if why != nil {
			sleep(h.ctx, leastPause)
		}
		it := h.ask([]*watch{v})[0]
		it.at = max(it.at, agreed)
		why = it.err
		again, doubt = h.armedOrNot(v, it)
	}
}

// armedOrNot takes the answer to the request for a watch, and reports whether to ask
// again. If the node does not exist but may do so at a zxid that the server had not
// seen, it returns that.
func (h *watches) armedOrNot(v *watch, it sighting) (again bool, doubt uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.tellLocked()
	switch {
	case h.all[v.path] != v: // it fired in the meantime
		return false, 0
	case it.err == nil && it.on == h.wire:
		v.state = armed
		if v.foreign = it.owner != v.owner; v.foreign {
			h.foreign(v.path)
		}
		for _, t := range v.targets {
			t.alive, t.gone = true, v.foreign
			h.news = append(h.news, t.wait)
		}
		if len(v.targets) == 0 {
			h.unused(v)
		}
		return false, 0
	case len(v.targets) == 0:
		delete(h.all, v.path)
		return false, 0
	case it.err == nil: // the connection was lost since
		return true, 0
	case errors.Is(it.err, gozk.ErrNoNode):
		for _, t := range v.targets {
			doubt = max(doubt, t.seen)
		}
		if doubt > it.at {
			return true, doubt
		}
		h.vanished(v)
		return false, 0
	case driver.Transient(it.err):
		return true, 0
	}
	delete(h.all, v.path)
	for _, t := range v.targets {
		t.wait.tell(outcome{err: it.err})
	}
	return false, 0
}
