package zk

// tell wakes the waits that have something to hear. The wire calls it when all
// that the server said so far has been taken in.
//
// The server tells of nodes that were deleted together one by one, and what it
// says of the second may come later than what it says of the first. A wait that
// has heard of the second only is woken all the same: to be sure that nothing
// else comes would take a request, for every lock that changes hands.
func (h *watches) tell() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tellLocked()
}

// tellLocked is tell for a caller that holds the lock.
func (h *watches) tellLocked() {
	for _, w := range h.news {
		if gone, sure := w.first(); gone != nil && sure {
			w.tell(outcome{index: gone.index})
		}
	}
	clear(h.news)
	h.news = h.news[:0]
}
