package rwlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/queue"
)

// RWLock is a read-write lock by name, shared by all clients that use the same name in
// the same namespace of the same store. It is safe for concurrent use and holds no
// resources. Several values of one name are one lock.
type RWLock struct {
	queue *queue.Queue
	name  string
}

// New returns the lock called name. Any name of 1 to coord.MaxName bytes is
// valid; what is wrong with one shows in the first call on the lock.
func New(client *coord.Client, name string, opts ...coord.RecipeOption) *RWLock {
	return &RWLock{queue.New(client, "rwlock", name, inLine, opts...).ByNames(nil), name}
}

// ErrUpgrade is the error of Lock and TryLock under the context of a reader, which
// cannot become a writer. Nothing was done, and the reader still holds.
var ErrUpgrade = errors.New("a reader cannot become a writer: unlock first")

type join func(context.Context, queue.Request) (*queue.Entry, error)

// RLock waits for its turn to read, first come, first served among readers and
// writers, and returns the held lock.
//
// ctx bounds the waiting and nothing after it. When it ends first, RLock returns at
// once with its error, and its place in the line is given up in the background. A
// session that is lost while waiting is an error that Is coord.ErrSessionLost, a place
// that an operator removed from the store one that Is coord.ErrRemoved; calling RLock
// again joins at the end of the line. If the store is out of reach before there is a
// place in the line, the error Is coord.ErrUnavailable or coord.ErrUncertain, when the
// client's TTL has passed, or coord.ErrSessionLost if the session ends sooner. A waiter
// in line waits on, for as long as the session lives.
//
// Under the context of a ReadHeld or WriteHeld of the same lock, RLock
// re-enters: it returns at once with the same token, also while others wait,
// and the lock is free when each was unlocked. If the lock has been lost in the
// meantime, it fails with coord.ErrNotHeld.
func (l *RWLock) RLock(ctx context.Context) (*ReadHeld, error) {
	return l.read(ctx, l.queue.Acquire)
}

// TryRLock is RLock without the waiting: if a writer holds the lock or waits for
// it, the error Is coord.ErrBusy, and no entry is left behind. ctx bounds the
// call, and the client's TTL the attempts to reach the store.
func (l *RWLock) TryRLock(ctx context.Context) (*ReadHeld, error) {
	return l.read(ctx, l.queue.TryAcquire)
}

// Lock waits for its turn to write, and returns the held lock. ctx and errors
// are as with RLock.
//
// Under the context of a WriteHeld of the same lock it re-enters, as RLock does.
// Under that of a ReadHeld, also one that a WriteHeld was downgraded to, it fails at
// once: the error Is ErrUpgrade.
func (l *RWLock) Lock(ctx context.Context) (*WriteHeld, error) {
	return l.write(ctx, l.queue.Acquire)
}

// TryLock is Lock without the waiting: if the lock is held or waited for, the error Is
// coord.ErrBusy, and no entry is left behind. ctx bounds the call, and the client's TTL
// the attempts to reach the store.
func (l *RWLock) TryLock(ctx context.Context) (*WriteHeld, error) {
	return l.write(ctx, l.queue.TryAcquire)
}

func (l *RWLock) read(ctx context.Context, join join) (*ReadHeld, error) {
	e, h, err := l.hold(ctx, join, reader, nil)
	if err != nil {
		return nil, err
	}
	return &ReadHeld{h, e}, nil
}

func (l *RWLock) write(ctx context.Context, join join) (*WriteHeld, error) {
	e, h, err := l.hold(ctx, join, writer, l.noUpgrade)
	if err != nil {
		return nil, err
	}
	return &WriteHeld{h, e}, nil
}

// hold re-enters, or joins the line.
func (l *RWLock) hold(ctx context.Context, join join, kind string,
	refuse func(*queue.Entry) error) (*queue.Entry, *coord.Hold, error) {
	if e, h, err := l.queue.Reenter(ctx, refuse); e != nil || err != nil {
		return e, h, err
	}
	e, err := join(ctx, queue.Request{Kind: kind})
	if err != nil {
		return nil, nil, err
	}
	h, err := e.Hold(ctx)
	return e, h, err
}

// noUpgrade refuses to make a writer of a reader. What was lost is not re-entered anyway.
func (l *RWLock) noUpgrade(e *queue.Entry) error {
	if queue.Kind(e.Node()) == writer || e.Err() != nil {
		return nil
	}
	return fmt.Errorf("coordkit: acquire rwlock %.64q: %w", l.name, ErrUpgrade)
}

// RDo runs fn while holding the lock to read and unlocks it afterwards, also
// when fn panics. fn's ctx ends when the lock is lost or ctx ends; token is the
// reader's token. RLock under fn's ctx re-enters.
//
// RDo returns fn's error. If the lock was lost while fn ran, the error also Is
// coord.ErrNotHeld, also when fn returned nil. What fn read may not have been protected
// to the end. ctx bounds all of it, as far as fn heeds its ctx. RDo does not return
// before fn has; if ctx ended by then, the unlocking goes on in the background.
func (l *RWLock) RDo(ctx context.Context, fn func(ctx context.Context, token uint64) error) error {
	held, err := l.RLock(ctx)
	if err != nil {
		return err
	}
	return held.entry.Do(ctx, held.Hold, func(ctx context.Context) error { return fn(ctx, held.Token()) })
}

// Do is RDo for writing: token is the fencing token, and Lock and RLock under
// fn's ctx re-enter.
func (l *RWLock) Do(ctx context.Context, fn func(ctx context.Context, token uint64) error) error {
	held, err := l.Lock(ctx)
	if err != nil {
		return err
	}
	return held.entry.Do(ctx, held.Hold, func(ctx context.Context) error { return fn(ctx, held.Token()) })
}

// Contenders returns who holds the lock and who waits for it, in order and with
// the Mode of each, as of now. It joins no line and opens no session. ctx bounds
// it.
func (l *RWLock) Contenders(ctx context.Context) (coord.Contenders, error) {
	return l.queue.Contenders(ctx, describe)
}

// Revoke asks the holder, or waiter, with the given token to let go, as Contenders
// lists them, and waits until it has: nil means that it is gone, also if it was before.
// A writer that is downgraded has not let go. It is a request and nothing more. A
// holder that does not listen, with Revoked of what it holds, is not touched. The
// reason, of up to 1 KiB, is for the listener. When ctx ends first the request is
// withdrawn.
//
// A waiter cannot hear the request until it holds. If the holder does not call Revoked,
// Revoke waits until ctx ends, so give it a deadline.
func (l *RWLock) Revoke(ctx context.Context, token uint64, reason string) error {
	return l.queue.Revoke(ctx, token, reason)
}
