package mem

import (
	"strconv"
	"time"

	"github.com/coordkit/coordkit/coord/driver/lease"
)

// lessee is a session as the store has it. The store's lock guards it.
type lessee struct {
	id       string
	ttl      time.Duration
	deadline time.Time // when the store ends it, unless it is renewed
	timer    *time.Timer
	ended    bool
	void     uint64 // attempts at creating up to this one must not land any more
	slots    map[slot]*node

	// check makes the client look at its clock, and reports whether that was news to
	// it; nil until the client has a session. See lapse.
	check func() (news bool)
}

// open grants a lease for ttl from now on.
func (st *Store) open(ttl time.Duration) (*lessee, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.seq++
	l := &lessee{
		id:       strconv.FormatUint(st.seq, 16),
		ttl:      ttl,
		deadline: time.Now().Add(ttl),
		slots:    make(map[slot]*node),
	}
	l.timer = time.AfterFunc(ttl, func() { st.lapse(l) })
	st.sessions[l.id] = l
	return l, nil
}

func (st *Store) onLapse(l *lessee, check func() (news bool)) {
	st.mu.Lock()
	defer st.mu.Unlock()
	l.check = check
}

// renew extends a lease. It asks the clock, because the timer may be late, and
// what has lapsed is not revived.
func (st *Store) renew(l *lessee) (struct{}, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	now := time.Now()
	if l.ended || !now.Before(l.deadline) {
		return struct{}{}, errNoSession
	}
	l.deadline = now.Add(l.ttl)
	l.timer.Reset(l.ttl)
	return struct{}{}, nil
}

// lapse ends a session whose time has run out.
//
// The client's own deadline is earlier, but both timers live in one process:
// after a pause of it (a suspended machine, a stopped process) both are due at
// once and run in any order. So the store makes the client look at the clock
// before it lets anybody see the nodes gone; and if the client did not know, it has
// the time to stop that its margin gives it otherwise. That is the order that separate
// machines have by their separate clocks.
func (st *Store) lapse(l *lessee) {
	st.mu.Lock()
	check, due := l.check, !time.Now().Before(l.deadline)
	st.mu.Unlock()
	if !due { // renewed in this moment, which has set the timer again
		return
	}
	// From here on renew refuses, so that what is due stays due.
	if check != nil && check() {
		time.AfterFunc(lease.Margin(l.ttl), func() { _, _ = st.end(l) })
		return
	}
	_, _ = st.end(l)
}

// end ends a session and removes its nodes. It is idempotent.
func (st *Store) end(l *lessee) (struct{}, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.endLocked(l)
	return struct{}{}, nil
}

func (st *Store) endLocked(l *lessee) {
	l.ended = true
	l.timer.Stop()
	for _, n := range l.slots {
		n.doomed = true // they go together, so a wait for several tells the first
	}
	for _, n := range l.slots {
		st.removeLocked(n)
	}
	delete(st.sessions, l.id)
}
