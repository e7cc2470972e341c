package sabotage

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// ending is the end of a session as a broken driver shows it.
type ending struct {
	mu   sync.Mutex
	done chan struct{}
	why  error
}

func newEnding() *ending { return &ending{done: make(chan struct{})} }

// end ends it; only the first reason counts.
func (e *ending) end(why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.why == nil {
		e.why = why
		close(e.done)
	}
}

func (e *ending) err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.why
}

// show makes Done and Err show e, after see had a look at the sound session.
func (s *session) show(e *ending, see func()) {
	s.done = func() <-chan struct{} { see(); return e.done }
	s.err = func() error { see(); return e.err() }
}

// endCalls has calls that succeed after the end that is shown fail for it.
func (s *session) endCalls() {
	ended := func(err *error) {
		if over := s.Err(); over != nil && *err == nil {
			*err = over
		}
	}
	s.create = func(ctx context.Context, dir, id string, data []byte) (n driver.Node, err error) {
		if err := s.Err(); err != nil {
			return n, err
		}
		defer ended(&err)
		return s.Session.Create(ctx, dir, id, data)
	}
	s.createList = func(ctx context.Context, dir, id string, data []byte) (n driver.Node, nodes []driver.Node, err error) {
		if err := s.Err(); err != nil {
			return n, nil, err
		}
		defer ended(&err)
		return optional[driver.CreateLister](s.Session).CreateList(ctx, dir, id, data)
	}
	s.abandon = func(ctx context.Context, dir, id string) (err error) {
		defer ended(&err)
		return s.Session.Abandon(ctx, dir, id)
	}
	s.list = func(ctx context.Context, dir string) (nodes []driver.Node, err error) {
		defer ended(&err)
		return s.Session.List(ctx, dir)
	}
	s.update = func(ctx context.Context, n driver.Node, data []byte) (m driver.Node, err error) {
		defer ended(&err)
		return s.Session.Update(ctx, n, data)
	}
	s.remove = func(ctx context.Context, n driver.Node) (err error) {
		defer ended(&err)
		return s.Session.Delete(ctx, n)
	}
}

// follow calls f once the sound session has ended.
func (s *session) follow(f func()) {
	go func() { // ends with the sound session, which ends with its connection
		<-s.Session.Done()
		f()
	}()
}

// delayEnd shows a loss later than it is, and Close at once.
func delayEnd(s *session, by func() time.Duration) {
	e := newEnding()
	see := func() {
		if err := s.Session.Err(); errors.Is(err, driver.ErrClosed) {
			e.end(err)
		}
	}
	s.show(e, see)
	s.follow(func() {
		see()
		if e.err() == nil {
			pass(s, by())
			e.end(s.Session.Err())
		}
	})
}

// roundTrip measures how long the store takes to answer.
func roundTrip(s *session) func() time.Duration {
	var last atomic.Int64
	go func() { // ends with the sound session, which ends with its connection
		for !over(s.Session.Done()) {
			sent := time.Now()
			if answers(s, s.TTL()) {
				last.Store(int64(time.Since(sent)))
			}
			rest(s.Session.Done(), s.TTL()/10)
		}
	}()
	return func() time.Duration { return time.Duration(last.Load()) }
}

// answers reports whether the store answers within d.
func answers(s *session, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), d)
	defer cancel()
	_, err := s.conn.Conn.List(ctx, "queue:nothing")
	return err == nil
}

// pass lets d pass, or less if the case ends.
func pass(s *session, d time.Duration) { rest(s.ctx.Done(), d) }

// rest lets d pass, or less if done is closed.
func rest(done <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select { // whichever comes first
	case <-timer.C:
	case <-done:
	}
}
