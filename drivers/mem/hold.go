package mem

import "slices"

// HeldRequest is the one request that Link.Hold keeps from landing.
type HeldRequest struct {
	link   *Link
	kinds  ops
	caught chan struct{}
	m      *message // nil before it is caught and after it is released
}

// Hold catches the next request of one of the kinds given (of any kind but
// OpRenew if none is) on its way to the store. Later requests overtake it, its
// sender waits or gives up, and nothing but Release lets it land, not even a
// reset of the connection: so it may land as late as a test likes.
func (l *Link) Hold(kinds ...Op) *HeldRequest {
	h := &HeldRequest{link: l, kinds: kinds, caught: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holds = append(l.holds, h)
	l.flow()
	return h
}

// catch reports whether a Hold has taken m.
func (l *Link) catch(m *message) bool {
	i := slices.IndexFunc(l.holds, func(h *HeldRequest) bool { return h.kinds.has(m.call.op) })
	if i < 0 {
		return false
	}
	h := l.holds[i]
	l.holds = slices.Delete(l.holds, i, i+1)
	h.m = m
	close(h.caught)
	return true
}

// Caught is closed when a request was caught.
func (h *HeldRequest) Caught() <-chan struct{} { return h.caught }

// Release lets the request land, whatever state the link is in, and returns
// when it has. The reply goes the usual way, if the sender still waits. If none
// was caught yet, none will be. Releasing again does nothing.
func (h *HeldRequest) Release() {
	h.link.mu.Lock()
	defer h.link.mu.Unlock()
	h.link.holds = slices.DeleteFunc(h.link.holds, func(other *HeldRequest) bool { return other == h })
	if m := h.m; m != nil {
		h.m = nil
		h.link.land(m)
	}
	h.link.flow()
}
