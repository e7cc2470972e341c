package election

import (
	"context"
	"fmt"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/queue"
)

// Leadership is an office that is held, until Resign or until it is lost. Its
// Context ends in both cases. All methods are safe for concurrent use.
type Leadership struct {
	*coord.Hold
	entry *queue.Entry
	what  string
}

// Proclaim changes the value that followers are shown. nil means that it was
// written while this leadership stood; the value of a leader that was deposed or
// has resigned changes nothing, and the error then Is coord.ErrNotHeld.
//
// ctx bounds it; for a store that is out of reach, or refuses it for now, it waits for
// the session's TTL at the most. After another error the value may have been written,
// or not, and calling again is safe. Of several proclamations, at once or one after the
// other, the last one to begin stays, however late the request of an earlier one
// arrives. It costs one request.
func (l *Leadership) Proclaim(ctx context.Context, value []byte) error {
	if err := checkValue(value); err != nil {
		return l.fail("proclaim", err)
	}
	if over := l.Err(); over != nil {
		return l.fail("proclaim", over)
	}
	// Of ctx, and not of the leadership: if ctx ends, the error says how.
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.Context(), cancel)()
	err := l.entry.Write(work, poster{elected, value}.encode())
	if over := l.Err(); over != nil { // the reason for the error, whatever it says
		return l.fail("proclaim", over)
	}
	return err
}

// Resign ends the leadership and lets the next in line be elected. Its context is
// cancelled first.
//
// It is idempotent. After an error the resigning goes on in the background, and
// calling Resign again waits for that; ctx bounds the call and not the
// resigning, so Resign under a ctx that has ended resigns all the same. Only this
// leadership ends: a late Resign never ends a later one. If the leadership had
// been lost before, the error Is coord.ErrNotHeld.
//
// If ctx has no deadline and the store is out of reach, Resign may take until the
// session ends. The error then Is coord.ErrSessionLost, but not coord.ErrNotHeld. If
// ctx is the hold's own context, its cancellation is ignored and only its deadline
// counts.
func (l *Leadership) Resign(ctx context.Context) error {
	return l.entry.Release(ctx, l.Hold)
}

// Revoked waits for a request, made with Election.Revoke, to step down, and returns it.
// It is up to the leader what to do about it. ctx bounds it; when the leadership ends
// first the error Is coord.ErrNotHeld. It costs the store nothing before it is called,
// and one watch while it waits.
//
// A request stands until the leader has let go or it is withdrawn; until then each
// call returns at once, so do not ask again right away after declining.
func (l *Leadership) Revoked(ctx context.Context) (coord.Revocation, error) {
	return l.entry.Revoked(ctx, l.Hold)
}

func (l *Leadership) fail(op string, err error) error {
	return fmt.Errorf("coordkit: %s in %s: %w", op, l.what, err)
}
