package conformance_test

import (
	"errors"
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/lease"
)

// lateSession ends when the store is about to give away what was held on it.
type lateSession struct {
	driver.Session
	done chan struct{}
}

func withoutMargin(s driver.Session) driver.Session {
	l := &lateSession{Session: s, done: make(chan struct{})}
	go func() {
		<-s.Done()
		if errors.Is(s.Err(), driver.ErrSessionLost) {
			time.Sleep(lease.Margin(s.TTL()) - time.Millisecond)
		}
		close(l.done)
	}()
	return l
}

// Unwrap makes the optional interfaces reachable.
func (s *lateSession) Unwrap() any { return s.Session }

func (s *lateSession) Done() <-chan struct{} { return s.done }

func (s *lateSession) Err() error {
	select {
	case <-s.done:
		return s.Session.Err()
	default:
	}
	if err := s.Session.Err(); errors.Is(err, driver.ErrClosed) {
		return err
	}
	return nil
}

// A driver that gives up no part of the lease still tells of a loss before others hold,
// and one rule of the recipes names what is missing.
func TestLeaseWithoutMargin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := onSessions(memHarness(time.Second), withoutMargin)
		for _, r := range check(t, h, pick(t, "S3", "M8", "M23")...).Results {
			want := conformance.Passed
			if r.Rule.ID == "M23" {
				want = conformance.Failed
			}
			if r.Status != want {
				t.Errorf("%s %v: %s; want it %v", r.Rule.ID, r.Status, r.Detail, want)
			}
		}
	})
}
