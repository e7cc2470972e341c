package queue

// latch is closed once. Its channel is made for the first who waits for it, which
// most entries do without. The entry's lock guards it.
type latch struct {
	set bool
	c   chan struct{}
}

func (l *latch) close() {
	l.set = true
	if l.c != nil {
		close(l.c)
	}
}

// wait returns what is closed with the latch.
func (l *latch) wait() <-chan struct{} {
	if l.c == nil {
		l.c = make(chan struct{})
		if l.set {
			close(l.c)
		}
	}
	return l.c
}

// whenGone is closed once the node is surely not in the store any more.
func (e *Entry) whenGone() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.gone.wait()
}
