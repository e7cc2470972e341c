package zk

import "time"

// unused takes note that nobody waits. The caller holds the lock.
func (h *watches) unused(v *watch) {
	v.idle = time.Now()
	h.sweepLater()
}

// sweepLater has the watches swept when one of them may have to go. The caller
// holds the lock.
func (h *watches) sweepLater() {
	if h.sweep == nil && !h.closed {
		h.sweep = time.AfterFunc(h.link.timing.linger, h.startSweep)
	}
}

// startSweep runs the sweep on a goroutine that close waits for.
func (h *watches) startSweep() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sweep = nil
	if !h.closed {
		h.running.Go(h.sweepOnce)
	}
}

// sweepOnce takes watches back that nobody has waited for in a while. While one
// is taken back it stays in the table, so that it is not asked for at the same
// time.
func (h *watches) sweepOnce() {
	var drop []*watch
	h.mu.Lock()
	w := h.wire
	for _, v := range h.all {
		if v.state != armed || len(v.targets) > 0 {
			continue
		}
		if time.Since(v.idle) >= h.link.timing.linger {
			v.state = dropping
			drop = append(drop, v)
		} else {
			h.sweepLater()
		}
	}
	h.mu.Unlock()
	for _, v := range drop {
		if w.forget(v.path) != nil {
			break // the connection is lost, and with it the watches
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, v := range drop {
		switch {
		case h.all[v.path] != v || v.state != dropping: // gone, or asked for on another connection
		case len(v.targets) == 0:
			delete(h.all, v.path)
		default:
			h.armLocked(v)
		}
	}
}
