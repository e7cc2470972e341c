package mutex

import (
	"context"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/queue"
)

// Mutex is a lock by name, shared by all clients that use the same name in the same
// namespace of the same store. It is safe for concurrent use and holds no resources.
// Several values of one name are one lock.
type Mutex struct {
	queue *queue.Queue
}

// New returns the lock called name. Any name of 1 to coord.MaxName bytes is
// valid; what is wrong with one shows in the first call on the lock.
func New(client *coord.Client, name string, opts ...coord.RecipeOption) *Mutex {
	return &Mutex{queue.New(client, "mutex", name, queue.OneByOne, opts...).ByNames(nil)}
}

// Lock waits for its turn, first come, first served, and returns the held lock.
//
// ctx bounds the waiting and nothing after it. When it ends first, Lock returns at once
// with its error, and its place in the line is given up in the background. A session
// that is lost while waiting is an error that Is coord.ErrSessionLost, a place that an
// operator removed from the store one that Is coord.ErrRemoved; calling Lock again
// joins at the end of the line. If the store is out of reach before there is a place in
// the line, the error Is coord.ErrUnavailable or coord.ErrUncertain, when the client's
// TTL has passed, or coord.ErrSessionLost if the session ends sooner. A waiter in line
// waits on, for as long as the session lives.
//
// Under the context of a Held of the same lock, Lock re-enters: it returns at once with
// the same token, and the lock is free when each Held was unlocked. If the lock has
// been lost in the meantime, it fails with coord.ErrNotHeld. Ownership goes with the
// context and not with the goroutine: without it, a second Lock waits in line.
func (m *Mutex) Lock(ctx context.Context) (*Held, error) {
	return m.acquire(ctx, m.queue.Acquire)
}

// TryLock is Lock without the waiting: if the lock is held or waited for, the error Is
// coord.ErrBusy, and no entry is left behind. ctx bounds the call, and the client's TTL
// the attempts to reach the store.
func (m *Mutex) TryLock(ctx context.Context) (*Held, error) {
	return m.acquire(ctx, m.queue.TryAcquire)
}

func (m *Mutex) acquire(ctx context.Context,
	join func(context.Context, queue.Request) (*queue.Entry, error)) (*Held, error) {
	if e, h, err := m.queue.Reenter(ctx, nil); e != nil || err != nil {
		return held(e, h, err)
	}
	e, err := join(ctx, queue.Request{})
	if err != nil {
		return nil, err
	}
	h, err := e.Hold(ctx)
	return held(e, h, err)
}

// Do runs fn while holding the lock and unlocks it afterwards, also when fn
// panics. fn's ctx ends when the lock is lost or ctx ends; token is the fencing
// token. Lock under fn's ctx re-enters.
//
// Do returns fn's error. If the lock was lost while fn ran, the error also Is
// coord.ErrNotHeld, also when fn returned nil. What fn did may not have been protected
// to the end. ctx bounds all of it, as far as fn heeds its ctx. Do does not return
// before fn has; if ctx ended by then, the unlocking goes on in the background.
func (m *Mutex) Do(ctx context.Context, fn func(ctx context.Context, token uint64) error) error {
	held, err := m.Lock(ctx)
	if err != nil {
		return err
	}
	return held.entry.Do(ctx, held.Hold, func(ctx context.Context) error { return fn(ctx, held.Token()) })
}

// Contenders returns who holds the lock and who waits for it, in order, as of
// now. It joins no line and opens no session. ctx bounds it.
func (m *Mutex) Contenders(ctx context.Context) (coord.Contenders, error) {
	return m.queue.Contenders(ctx, nil)
}

// Revoke asks the holder, or waiter, with the given token to let go, as Contenders
// lists them, and waits until it has: nil means that it is gone, also if it was before.
// It is a request and nothing more. A holder that does not listen, with Held.Revoked,
// is not touched. The reason, of up to 1 KiB, is for the listener. When ctx ends first
// the request is withdrawn.
//
// A waiter cannot hear the request until it holds. If the holder does not call Revoked,
// Revoke waits until ctx ends, so give it a deadline.
func (m *Mutex) Revoke(ctx context.Context, token uint64, reason string) error {
	return m.queue.Revoke(ctx, token, reason)
}
