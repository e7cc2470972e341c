package conformance

import (
	"sync"
	"time"
)

// pulse knows how late the timers of this process ran, and when. A check that
// gives the driver milliseconds gives it that much more, because a machine
// which does not run the suite's timers does not run the driver either.
type pulse struct {
	mu   sync.Mutex
	due  time.Time // of the next beat
	late []beat
}

// beat is a timer that ran late by lag.
type beat struct {
	at  time.Time
	lag time.Duration
}

const (
	pulseEvery  = 10 * time.Millisecond
	pulseIgnore = 2 * time.Millisecond // what timers are off by always
)

// run beats until stop is closed.
func (p *pulse) run(stop <-chan struct{}) {
	timer := time.NewTimer(pulseEvery)
	defer timer.Stop()
	p.mu.Lock()
	p.due = time.Now().Add(pulseEvery)
	p.mu.Unlock()
	for {
		select { // one of two ends; a last beat more or less changes nothing
		case <-stop:
			return
		case <-timer.C:
		}
		p.mu.Lock()
		now := time.Now()
		if lag := now.Sub(p.due); lag > pulseIgnore {
			p.late = append(p.late, beat{now, lag})
		}
		p.due = now.Add(pulseEvery)
		p.mu.Unlock()
		timer.Reset(pulseEvery)
	}
}

// lag is how late timers were since a time, all together.
func (p *pulse) lag(since time.Time) (sum time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.late) - 1; i >= 0 && p.late[i].at.After(since); i-- {
		sum += p.late[i].lag
	}
	if !p.due.IsZero() {
		sum += max(0, time.Since(p.due))
	}
	return sum
}

// most is the most that a timer was late.
func (p *pulse) most() (lag time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.late {
		lag = max(lag, b.lag)
	}
	return lag
}
