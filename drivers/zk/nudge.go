package zk

// nudge sends a ping on a connection whose server owes an answer.
//
// The thread that commits in a member of a cluster looks how much there is to do, then
// takes the lock by which it is woken, and sleeps (CommitProcessor of 3.8, run). What
// comes between the two wakes nobody, and is done when the next comes, which on a member
// with little to do is the next ping of some session. It was seen once in a hundred
// thousand requests. A server that is just slow has one message more to answer.
func (l *link) nudge(w *wire) {
	l.mu.Lock()
	if l.why != nil || !l.up || l.wire != w {
		l.mu.Unlock()
		return
	}
	l.calls.Add(1)
	l.mu.Unlock()
	if !w.mu.TryLock() { // what is being written does as well
		l.calls.Done()
		return
	}
	if rest := w.begin(message(xidPing, opPing)); len(rest) > 0 {
		go l.finish(w, rest)
	} else {
		l.finish(w, nil)
	}
}
