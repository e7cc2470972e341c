package history

import "time"

// trouble is a time in which a client's way to the store was disturbed.
type trouble struct {
	from, to time.Duration
	over     bool // to is known
}

// Trouble says that a client's way to the store, or for "" everybody's, is about
// to be disturbed, until over is called.
func (h *History) Trouble(client, what string) (over func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := len(h.troubles[client])
	h.troubles[client] = append(h.troubles[client], trouble{from: time.Since(h.start)})
	who := client
	if who == "" {
		who = "the store"
	}
	h.add("", "", "%s: %s", who, what)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		t := &h.troubles[client][i]
		t.to, t.over = time.Since(h.start), true
		h.add("", "", "%s: no more %s", who, what)
	}
}

// troubled is how much of a time a client was in trouble. Even the shortest
// trouble counts for something.
func (h *History) troubled(client string, from, to time.Duration) (sum time.Duration) {
	for _, name := range []string{"", client} {
		for i := len(h.troubles[name]) - 1; i >= 0; i-- { // the latest first
			t := h.troubles[name][i]
			if !t.over {
				t.to = to
			}
			if t.to < from {
				break
			}
			if t.from <= to {
				sum += max(1, min(t.to, to)-max(t.from, from))
			}
		}
	}
	return sum
}

// lastTrouble is when a client was in trouble last, or the beginning.
func (h *History) lastTrouble(client string, now time.Duration) (last time.Duration) {
	for _, name := range []string{"", client} {
		if n := len(h.troubles[name]); n > 0 {
			t := h.troubles[name][n-1] // one at a time for each, so the last is the latest
			if !t.over {
				return now
			}
			last = max(last, t.to)
		}
	}
	return last
}
