package mutex

import (
	"context"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/queue"
)

// Held is a lock that is held, until Unlock or until it is lost. Its Context
// ends in both cases. All methods are safe for concurrent use.
type Held struct {
	*coord.Hold
	entry *queue.Entry
}

func held(e *queue.Entry, h *coord.Hold, err error) (*Held, error) {
	if err != nil {
		return nil, err
	}
	return &Held{h, e}, nil
}

// Unlock ends the hold and lets the next in line have the lock. Its context is
// cancelled first.
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
func (h *Held) Unlock(ctx context.Context) error {
	return h.entry.Release(ctx, h.Hold)
}

// Revoked waits for a request, made with Mutex.Revoke, to let go of the lock, and
// returns it. It is up to the holder what to do about it. ctx bounds it; when the hold
// ends first the error Is coord.ErrNotHeld. It costs the store nothing before it is
// called, and one watch while it waits.
//
// A request stands until the holder has let go or it is withdrawn; until then each
// call returns at once, so do not ask again right away after declining.
func (h *Held) Revoked(ctx context.Context) (coord.Revocation, error) {
	return h.entry.Revoked(ctx, h.Hold)
}
