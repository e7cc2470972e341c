package zk

import "slices"

// tell wakes the waits that have something to hear. The wire calls it when all
// that the server said so far has been taken in.
//
// A wait is to hear of the first of several nodes that were deleted together.
// The server tells of them one by one, in the order of its transaction. So if a
// node is gone that is not the first of a wait's, the server is asked for a sign
// of life, which it gives after all that it had to tell.
func (h *watches) tell() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tellLocked()
}

// tellLocked is tell for a caller that holds the lock.
func (h *watches) tellLocked() {
	for _, w := range h.news {
		gone, sure := w.first()
		switch {
		case w.told || gone == nil || !sure:
		case gone.index == 0:
			w.tell(outcome{})
		default:
			h.unasked = append(h.unasked, w)
		}
	}
	h.news = reset(h.news)
	if len(h.unasked) > 0 && !h.closed {
		on := h.wire
		h.running.Go(func() { on.probe(h) })
	}
}

func reset[T any](list []T) []T {
	clear(list)
	return list[:0]
}

// probing takes note that the sign of life numbered n of a wire is about to be
// asked for, and reports whether that is of use.
func (h *watches) probing(on *wire, n int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if on != h.wire { // the connection has changed in the meantime
		h.news = append(h.news, h.unasked...)
		h.unasked = reset(h.unasked)
		h.tellLocked()
		return false
	}
	for _, w := range h.unasked {
		w.probe = probe{on, n}
		h.asked = append(h.asked, w)
	}
	any := len(h.unasked) > 0
	h.unasked = reset(h.unasked)
	return any
}

// probed takes the signs of life of a wire, up to the n-th.
func (h *watches) probed(on *wire, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = slices.DeleteFunc(h.asked, func(w *wait) bool {
		if w.probe.on != on || w.probe.n > n {
			return false
		}
		if gone, sure := w.first(); gone != nil && sure {
			w.tell(outcome{index: gone.index})
		}
		return true
	})
}
