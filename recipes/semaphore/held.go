package semaphore

import (
	"context"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/queue"
)

// Held is a number of permits that are held, until Release or until they are
// lost. Its Context ends in both cases. All methods are safe for concurrent use.
type Held struct {
	*coord.Hold
	entry   *queue.Entry
	permits int
}

// Permits is how many permits are held.
func (h *Held) Permits() int { return h.permits }

// Release ends the hold and returns all of its permits. Its context is cancelled
// first.
//
// It is idempotent. After an error the permits are being returned in the
// background, and calling Release again waits for that; ctx bounds the call and
// not the returning, so Release under a ctx that has ended returns them all the
// same. Only what is held here is returned, and only once. If it had been lost
// before, the error Is coord.ErrNotHeld.
//
// If ctx has no deadline and the store is out of reach, Release may take until the
// session ends. The error then Is coord.ErrSessionLost, but not coord.ErrNotHeld. If
// ctx is the hold's own context, its cancellation is ignored and only its deadline
// counts.
func (h *Held) Release(ctx context.Context) error {
	return h.entry.Release(ctx, h.Hold)
}

// Revoked waits for a request, made with Semaphore.Revoke, to let go of the permits,
// and returns it. It is up to the holder what to do about it. ctx bounds it; when the
// hold ends first the error Is coord.ErrNotHeld. It costs the store nothing before it
// is called, and one watch while it waits.
//
// A request stands until the holder has let go or it is withdrawn; until then each
// call returns at once, so do not ask again right away after declining.
func (h *Held) Revoked(ctx context.Context) (coord.Revocation, error) {
	return h.entry.Revoked(ctx, h.Hold)
}
