package sessions

import (
	"context"
	"errors"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
	"github.com/coordkit/coordkit/coord/driver/lease"
)

// Config describes a session that the store has just opened.
type Config struct {
	// Lease is its lease, without Store. Renew makes one attempt: it need not look at
	// the session's end, and classifies its errors as the request of attempt.Op.Do does.
	Lease lease.Config

	// Revoke asks the store once to end the session and to remove its nodes. It
	// classifies its errors as the request of attempt.Op.Do does. An error that Is
	// driver.ErrSessionLost says that there is no such session, which is success.
	Revoke func(ctx context.Context) error
}

// Session is the part of a driver.Session that is the same on every store. Its methods
// are safe for concurrent use.
type Session struct {
	keeper *Keeper
	cfg    Config
	lease  *lease.Lease

	life   context.Context // ends with the session
	cancel context.CancelCauseFunc
}

// Open starts s, which is part of the driver's session. When the keeper was closed in the
// meantime it returns an error that Is driver.ErrClosed: the driver gives the session
// back, or leaves it to its TTL.
func (k *Keeper) Open(s *Session, cfg Config) error {
	s.keeper, s.cfg = k, cfg
	s.life, s.cancel = context.WithCancelCause(k.life)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sessions == nil {
		s.cancel(nil)
		return k.whyClosed()
	}
	k.sessions[s] = struct{}{}
	keep := cfg.Lease
	keep.Store = k.store
	keep.Renew = func(ctx context.Context) error {
		o := s.Write("renew", s.ID())
		o.Limit = s.TTL() / 2
		return o.Do(ctx, s.life, cfg.Lease.Renew)
	}
	s.lease = lease.Keep(keep)
	k.running.Go(s.attend)
	return nil
}

// attend ends the calls under way when the session ends, and sees the lease's goroutine
// out.
func (s *Session) attend() {
	<-s.lease.Done()
	s.cancel(s.lease.Err())
	s.lease.Wait()
	if !errors.Is(s.lease.Err(), driver.ErrClosed) {
		s.keeper.forget(s) // of a closed session Close does
	}
}

// ID implements driver.Session.
func (s *Session) ID() string { return s.cfg.Lease.Session }

// TTL implements driver.Session.
func (s *Session) TTL() time.Duration { return s.cfg.Lease.TTL }

// Done implements driver.Session.
func (s *Session) Done() <-chan struct{} { return s.lease.Done() }

// Err implements driver.Session.
func (s *Session) Err() error { return s.lease.Err() }

// Life returns a context that ends with the session. Its cause is Err.
func (s *Session) Life() context.Context { return s.life }

// Lost ends the session for a reason that the store has told, which Is
// driver.ErrSessionLost. Do calls it for answers that say so.
func (s *Session) Lost(why error) { s.lease.End(why) }

func (s *Session) end() {
	s.lease.End(&driver.Error{Op: "session", Store: s.keeper.store, Key: s.ID(), Kind: driver.ErrClosed})
}

// Read describes a call that changes nothing in the store. An attempt lasts a third of
// the TTL, so that there is time for another while the session lives, and 5 s at the most.
func (s *Session) Read(name, key string) attempt.Op {
	return attempt.Op{Store: s.keeper.store, Name: name, Key: key, Limit: min(s.TTL()/3, 5*time.Second)}
}

// Write describes a call that changes something in the store, with the limit of Read.
func (s *Session) Write(name, key string) attempt.Op {
	o := s.Read(name, key)
	o.Write = true
	return o
}

// Do makes one attempt of a call, as o.Do does, but not when the session has ended. An
// answer that comes after the end does not count: the error is Err then.
func (s *Session) Do(ctx context.Context, o attempt.Op, request func(ctx context.Context) error) error {
	if err := s.Err(); err != nil {
		return err
	}
	err := o.Do(ctx, s.life, request)
	if errors.Is(err, driver.ErrSessionLost) {
		s.Lost(err)
	}
	if over := s.Err(); over != nil {
		return over
	}
	return err
}

// Close implements driver.Session by Config.Revoke. It may be called again, and asks the
// store each time. If it fails, the keeper's Close asks again, until two TTL later: by then every
// store has ended the session by itself.
func (s *Session) Close(ctx context.Context) error {
	s.end()
	err := s.Write("close", s.ID()).Do(ctx, s.keeper.life, s.cfg.Revoke)
	if errors.Is(err, driver.ErrSessionLost) {
		err = nil
	}
	if err == nil {
		s.keeper.forget(s)
	} else {
		time.AfterFunc(2*s.TTL(), func() { s.keeper.forget(s) })
	}
	return err
}
