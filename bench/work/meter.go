package work

import (
	"math"
	"sync"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
)

// meter sees every step of those who contend. They run in one process, so there
// is one clock and one order of events.
type meter struct {
	limit   int  // how much may be held at a time
	ordered bool // they stand in one line
	clocked bool // without numbers, the clock tells who came first
	mixed   bool // who holds the whole limit is a writer, and all others readers

	mu       sync.Mutex
	counts   bool          // the warm-up is over
	strange  int           // how many have never got the lock
	served   chan struct{} // closed when there are none
	stopped  bool
	start    time.Time
	sample   contest.Sample
	seen     []bool      // by contender: it got the lock
	asked    []time.Time // by contender; zero while it does not wait
	waiting  int
	held     int
	last     uint64    // the number of the last entry that held it; 0 if there was none with one
	grants   []grant   // by entries with numbers of whom several hold at a time, in their order
	holders  []int     // by contender: which of the grants is its last
	released time.Time // when Unlock was last called while others waited; zero if there was no such call
}

// arrival is how long who has asked is given to reach the store: many times what
// a request takes. From then on it stands in line, before all who ask later.
const arrival = 100 * time.Millisecond

// newMeter has n contenders, of whom each holds one part of limit, or more.
func newMeter(n, limit int) *meter {
	return &meter{limit: limit, ordered: true, clocked: true, strange: n, served: make(chan struct{}), seen: make([]bool, n),
		asked: make([]time.Time, n), holders: make([]int, n), sample: contest.Sample{PerClient: make([]int, n)}}
}

func (m *meter) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts, m.start = true, time.Now()
}

func (m *meter) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.stopped {
		m.stopped = true
		m.sample.Seconds = time.Since(m.start).Seconds()
	}
}

// result is the sample so far.
func (m *meter) result() contest.Sample {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sample
	if m.mixed {
		s.Checked, s.Violations = overtaken(m.grants)
	} else if len(m.grants) > 0 {
		s.Checked, s.Violations = early(m.grants, m.limit)
	}
	return s
}

// asks is called right before Lock.
func (m *meter) asks(who int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked[who] = time.Now()
	m.waiting++
}

// got is called right after Lock, by one who now holds so much by the entry of a
// number, and reports false if more is held than may be. Without numbers, which are
// then 0, the order is told by the clock.
func (m *meter) got(who, weight int, number uint64) bool {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.seen[who] {
		m.seen[who] = true
		if m.strange--; m.strange == 0 {
			close(m.served)
		}
	}
	asked := m.asked[who]
	m.asked[who] = time.Time{}
	m.waiting--
	m.held += weight
	if m.ordered && m.counts && !m.stopped {
		if !m.released.IsZero() && asked.Before(m.released) { // who came later was not handed anything
			m.sample.Handoffs = append(m.sample.Handoffs, now.Sub(m.released))
		}
		numbered := m.limit == 1 && m.last > 0 && number > 0
		if numbered || m.clocked && m.waiting > 0 { // there is somebody to overtake
			m.sample.Checked++
		}
		if numbered && number < m.last || !numbered && m.clocked && m.overtakes(asked) {
			m.sample.Violations++
		}
	}
	if m.limit > 1 && number > 0 && (m.ordered || m.mixed) {
		m.holders[who] = len(m.grants)
		m.grants = append(m.grants, grant{number: number, weight: weight, writes: m.mixed && weight == m.limit,
			counts: m.counts && !m.stopped, left: math.MaxInt})
	}
	m.last = max(m.last, number)
	m.released = time.Time{}
	return m.held <= m.limit
}

// isFirst reports whether a contender has never had the lock, and nothing is measured
// yet.
func (m *meter) isFirst(who int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.seen[who] && !m.counts
}

// fits reports whether no more is held than may be.
func (m *meter) fits() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held <= m.limit
}

// overtakes tells whether somebody waits who stood in line before the one that
// asked at the given time.
func (m *meter) overtakes(asked time.Time) bool {
	for _, other := range m.asked {
		if !other.IsZero() && asked.Sub(other) > arrival {
			return true
		}
	}
	return false
}

// releases is called right before Unlock, by one who holds so much.
func (m *meter) releases(who, weight int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held -= weight
	if len(m.grants) > 0 {
		m.grants[m.holders[who]].left = len(m.grants)
	}
	if m.waiting > 0 {
		m.released = time.Now()
	}
}

// done is called right after Unlock, of an operation that began with Lock's call
// at start.
func (m *meter) done(who int, start time.Time) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counts && !m.stopped {
		m.sample.Ops++
		m.sample.PerClient[who]++
		m.sample.Latencies = append(m.sample.Latencies, now.Sub(start))
	}
}
