package coord

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/lease"
)

// Session is a lease in the store, kept alive while the client can reach it.
// Every entry of a queue is bound to one and vanishes with it. All methods are
// safe for concurrent use.
type Session struct {
	client *Client
	ds     driver.Session
	ctx    context.Context // ends with the session; its cause is why
	end    context.CancelCauseFunc

	// holds is the parent of every hold's context. It ends a step before ctx:
	// first of all, who holds something is told.
	holds    context.Context
	endHolds context.CancelCauseFunc

	work     sync.WaitGroup // what Go started
	finished chan struct{}  // closed when nothing of the session runs any more
	farewell context.Context
	hurry    context.CancelFunc // ends farewell

	mu    sync.Mutex
	ended bool // Go starts nothing more
	local map[any]any
}

func newSession(c *Client, ds driver.Session) *Session {
	s := &Session{client: c, ds: ds, finished: make(chan struct{})}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	s.holds, s.endHolds = context.WithCancelCause(context.Background())
	s.farewell, s.hurry = context.WithCancel(context.Background())
	go s.watch()
	return s
}

// watch waits for the end of the session, tells those who use it, and clears
// up. It is the owner of what Go started, and Close waits for it.
func (s *Session) watch() {
	defer close(s.finished)
	defer s.hurry()
	<-s.ds.Done()
	why := s.ds.Err()
	s.endHolds(lost("", why)) // and returns when every context below has ended
	s.end(why)
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	if !errors.Is(why, ErrClosed) {
		s.client.log.Warn("session lost", zap.String("session", s.ds.ID()), zap.Error(why))
		s.sayFarewell()
	}
	s.work.Wait() // all of it ends with s.ctx
	s.client.forget(s)
}

// sayFarewell tells the store that the session is over. It may not know yet:
// its clock started later than ours, or the way to it is open again. Telling it
// frees what others wait for; after the TTL there is nothing to tell.
//
// The work that was told of the loss gets the time to stop that it would have
// had until the lease ran out in the store.
func (s *Session) sayFarewell() {
	grace := time.NewTimer(lease.Margin(s.ds.TTL()))
	defer grace.Stop()
	select {
	case <-grace.C:
	case <-s.farewell.Done(): // Close has told the store
	}
	ctx, cancel := context.WithTimeout(s.farewell, s.ds.TTL())
	defer cancel()
	_ = s.ds.Close(ctx)
}

// ID names the session in the store.
func (s *Session) ID() string { return s.ds.ID() }

// TTL is how long the store keeps the session, at least, after the client fell silent.
func (s *Session) TTL() time.Duration { return s.ds.TTL() }

// Done is closed when the session ends, before the store can give away what
// was held on it.
func (s *Session) Done() <-chan struct{} { return s.ds.Done() }

// Err is nil while the session can be proved alive. Then it says why it is
// over: ErrSessionLost or ErrClosed. It asks the clock, so a program that was
// paused gets the right answer from its first call on.
func (s *Session) Err() error { return s.ds.Err() }

// Context ends with the session; its cause is Err's answer.
func (s *Session) Context() context.Context { return s.ctx }

// Client returns the client that the session belongs to.
func (s *Session) Client() *Client { return s.client }

// Driver returns the driver's session, for authors of recipes.
func (s *Session) Driver() driver.Session { return s.ds }

// Local returns what recipes keep about this session under key, and makes it
// at the first call. It is for authors of recipes: state that ends with the
// session lives here and not in a global. key is of a type of the caller's own,
// as with context.WithValue.
func (s *Session) Local(key any, make func() any) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.local[key]
	if !ok {
		if s.local == nil {
			s.local = map[any]any{}
		}
		v = make()
		s.local[key] = v
	}
	return v
}

// Go runs fn in a goroutine that Close waits for. fn returns promptly when its
// ctx ends, which it does with the session. Go reports false, and does not run
// fn, if the session is over. It is for authors of recipes. fn must not wait for Close.
func (s *Session) Go(fn func(ctx context.Context)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.work.Go(func() { fn(s.ctx) })
	return true
}

// Close ends the session: everything held or waited for on it ends, with ErrClosed, and
// its entries vanish from the store. ctx bounds it. When ctx ends first, the error says
// so and everything local has ended all the same. The store then removes the entries
// when the TTL has passed. While the store cannot be reached it is asked again, until 5
// s or the TTL have passed. Close is idempotent.
func (s *Session) Close(ctx context.Context) error {
	s.tellHolders()
	err := s.ds.Close(ctx)
	giveUp := time.Now().Add(min(s.TTL(), patience))
	err = s.client.retry(ctx, s.ds.Close, err, nil, func() bool { return !time.Now().Before(giveUp) })
	if err != nil && ctx.Err() != nil {
		err = ended(ctx, err)
	}
	s.hurry()
	left := finish(ctx, patience, func() error { <-s.finished; return nil })
	return errors.Join(err, left)
}

// tellHolders ends every hold of a session that is about to be closed. The driver
// closes Done before it asks the store, but the goroutine that waits for that may
// run after the store has let the next in line have what was held.
func (s *Session) tellHolders() {
	why := s.ds.Err()
	if why == nil {
		why = &Error{Op: "session", Key: s.ds.ID(), Kind: ErrClosed}
	}
	s.endHolds(lost("", why))
}

func (c *Client) forget(s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sessions, s)
}
