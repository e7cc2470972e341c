package semaphore

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
)

// Semaphore is a semaphore by name, shared by all clients that use the same name in the
// same namespace of the same store. It is safe for concurrent use. Several values of
// one name are one semaphore.
type Semaphore struct {
	queue   *queue.Queue
	client  *coord.Client
	session *coord.Session // of coord.WithSession; nil: the one that the client shares
	name    string
	stated  int64 // the limit that it was given
	err     error // that limit is invalid

	// seen is the limit that was in force when this value last looked. It tells
	// others under which limit somebody came in, and lets nobody in.
	seen atomic.Int64
}

// New returns the semaphore called name, of which that many permits can be held
// at a time. Any name of 1 to coord.MaxName bytes is valid, and 1 to MaxLimit
// permits; what is wrong with them shows in the first call.
func New(client *coord.Client, name string, permits int, opts ...coord.RecipeOption) *Semaphore {
	var o coord.RecipeOptions
	for _, opt := range opts {
		opt(&o)
	}
	s := &Semaphore{client: client, session: o.Session, name: name, stated: int64(permits), err: inRange("limit", permits)}
	s.seen.Store(s.stated)
	s.queue = queue.New(client, "semaphore", name, s.inLine, opts...).ByNames(namesSuffice)
	return s
}

// Acquire waits until it gets n permits, all at once, first come, first served.
//
// ctx bounds the waiting and nothing after it. When it ends first, Acquire returns at
// once with its error, and its place in the line is given up in the background. A
// session that is lost while waiting is an error that Is coord.ErrSessionLost, a place
// that an operator removed from the store one that Is coord.ErrRemoved; calling Acquire
// again joins at the end of the line. If the store is out of reach before there is a
// place in the line, the error Is coord.ErrUnavailable or coord.ErrUncertain, when the
// client's TTL has passed, or coord.ErrSessionLost if the session ends sooner. A waiter
// in line waits on, for as long as the session lives.
//
// More permits than the limit in force are an error that Is coord.ErrInvalid,
// also if the limit is lowered while it waits. If those in line were given
// another limit in New, the error is a *LimitError.
func (s *Semaphore) Acquire(ctx context.Context, n int) (*Held, error) {
	return s.acquire(ctx, n, s.queue.Acquire)
}

// TryAcquire is Acquire without the waiting: if the permits are not free, or there is a
// waiter, the error Is coord.ErrBusy, and no entry is left behind. ctx bounds the call,
// and the client's TTL the attempts to reach the store.
func (s *Semaphore) TryAcquire(ctx context.Context, n int) (*Held, error) {
	return s.acquire(ctx, n, s.queue.TryAcquire)
}

func (s *Semaphore) acquire(ctx context.Context, n int,
	join func(context.Context, queue.Request) (*queue.Entry, error)) (*Held, error) {
	if err := cmp.Or(s.err, inRange("number of permits", n)); err != nil {
		return nil, s.fail("acquire", err)
	}
	came := terms{n, s.stated, s.seen.Load()}
	e, err := join(ctx, queue.Request{Kind: request, Terms: came.named(), Value: []byte(came.String()), Gate: true})
	if err != nil {
		return nil, err
	}
	if now := s.seen.Load(); now > came.under {
		s.correct(e, terms{n, s.stated, now})
	}
	return hold(ctx, e, n)
}

// hold makes a holder of an entry that was granted.
func hold(ctx context.Context, e *queue.Entry, permits int) (*Held, error) {
	h, err := e.Hold(ctx)
	if err != nil {
		return nil, err
	}
	return &Held{h, e, permits}, nil
}

// correct writes into an entry that it came in under a higher limit than its
// client knew, for those who look at the line when that one has ended. It is no
// part of the grant, and fails if the entry is left by then.
func (s *Semaphore) correct(e *queue.Entry, t terms) {
	e.Session().Go(func(ctx context.Context) { _ = e.Write(ctx, []byte(t.String())) })
}

// Do runs fn while holding n permits and releases them afterwards, also when fn
// panics. fn's ctx ends when they are lost or ctx ends; token is the fencing
// token.
//
// Do returns fn's error. If the permits were lost while fn ran, the error also
// Is coord.ErrNotHeld, also when fn returned nil. ctx bounds all of it, as far as
// fn heeds its ctx. Do does not return before fn has; if ctx ended by then, the
// releasing goes on in the background.
func (s *Semaphore) Do(ctx context.Context, n int, fn func(ctx context.Context, token uint64) error) error {
	held, err := s.Acquire(ctx, n)
	if err != nil {
		return err
	}
	return held.entry.Do(ctx, held.Hold, func(ctx context.Context) error { return fn(ctx, held.Token()) })
}

// Contenders returns who holds permits and who waits for some, in order and with
// the number of each, as of now. It joins no line and opens no session. ctx
// bounds it.
func (s *Semaphore) Contenders(ctx context.Context) (coord.Contenders, error) {
	if s.err != nil {
		return coord.Contenders{}, s.fail("list", s.err)
	}
	return s.queue.Contenders(ctx, describe)
}

func describe(n driver.Node, c *coord.Contender) {
	t, _ := termsOf(n) // who cannot be read shows with none
	c.Permits = t.permits
}

// Revoke asks the holder, or waiter, with the given token to let go, as Contenders
// lists them, and waits until it has: nil means that it is gone, also if it was before.
// It is a request and nothing more. A holder that does not listen, with Held.Revoked,
// is not touched. The reason, of up to 1 KiB, is for the listener. When ctx ends first
// the request is withdrawn.
//
// A waiter cannot hear the request until it holds. If the holder does not call Revoked,
// Revoke waits until ctx ends, so give it a deadline.
func (s *Semaphore) Revoke(ctx context.Context, token uint64, reason string) error {
	if s.err != nil {
		return s.fail("revoke", s.err)
	}
	return s.queue.Revoke(ctx, token, reason)
}

// fail names the semaphore in an error.
func (s *Semaphore) fail(op string, err error) error {
	return fmt.Errorf("coordkit: %s semaphore %.64q: %w", op, s.name, err)
}
