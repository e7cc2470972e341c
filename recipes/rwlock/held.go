package rwlock

import (
	"context"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/queue"
)

// ReadHeld is a lock that is held to read, until Unlock or until it is lost. Its
// Context ends in both cases. All methods are safe for concurrent use.
type ReadHeld struct {
	*coord.Hold
	entry *queue.Entry
}

// WriteHeld is a lock that is held to write, until Unlock or Downgrade, or until
// it is lost. Its Context ends in each case. All methods are safe for concurrent
// use.
type WriteHeld struct {
	*coord.Hold
	entry *queue.Entry
}

// Unlock ends the hold, and lets the waiters have the lock that wait for no other
// entry. Its context is cancelled first.
//
// It is idempotent. After an error the lock is being released in the
// background, and calling Unlock again waits for that; ctx bounds the call and
// not the releasing, so Unlock under a ctx that has ended releases all the
// same. Only this hold is released: a late Unlock never frees a later holder's
// lock. If the lock had been lost before, the error Is coord.ErrNotHeld.
//
// If ctx has no deadline and the store is out of reach, Unlock may take until the
// session ends. The error then Is coord.ErrSessionLost, but not coord.ErrNotHeld. If
// ctx is the hold's own context, its cancellation is ignored and only its deadline
// counts.
func (h *ReadHeld) Unlock(ctx context.Context) error {
	return h.entry.Release(ctx, h.Hold)
}

// Unlock is as that of a ReadHeld. After a Downgrade it has nothing left to end, so it
// can be deferred all the same: it only waits until the store has confirmed that the
// writer's entry is gone.
func (h *WriteHeld) Unlock(ctx context.Context) error {
	return h.entry.Release(ctx, h.Hold)
}

// Downgrade makes a reader of the writer: the write hold ends, its Context with
// it, and the lock is held to read from then on, with the same token. The
// readers that wait right behind come in; no writer does in between. The read
// hold's context has the values of the write hold's.
//
// ctx bounds it; for a store that is out of reach, or refuses it for now, it waits for
// the session's TTL at the most. After an error the lock is held to write as it was,
// and Downgrade may be called again; if it is not, because it was lost or unlocked, the
// error Is coord.ErrNotHeld. While the lock has been re-entered, under this hold or as
// this hold, a caller relies on being alone, and the error Is coord.ErrInvalid.
func (h *WriteHeld) Downgrade(ctx context.Context) (*ReadHeld, error) {
	e, read, err := h.entry.Downgrade(ctx, h.Hold, queue.Request{Kind: downgraded})
	if err != nil {
		return nil, err
	}
	return &ReadHeld{read, e}, nil
}

// Revoked waits for a request, made with RWLock.Revoke, to let go of the lock, and
// returns it. It is up to the holder what to do about it. ctx bounds it; when the hold
// ends first the error Is coord.ErrNotHeld. It costs the store nothing before it is
// called, and one watch while it waits.
//
// A request stands until the holder has let go or it is withdrawn; until then each
// call returns at once, so do not ask again right away after declining.
func (h *ReadHeld) Revoked(ctx context.Context) (coord.Revocation, error) {
	return h.entry.Revoked(ctx, h.Hold)
}

// Revoked is as that of a ReadHeld. Downgrading is not what was asked for: the request
// stands until the lock is released.
func (h *WriteHeld) Revoked(ctx context.Context) (coord.Revocation, error) {
	return h.entry.Revoked(ctx, h.Hold)
}
