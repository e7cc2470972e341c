package queue

import (
	"context"
	"errors"
	"time"

	"github.com/coordkit/coordkit/coord"
)

// refused reports whether err says that a create was not applied and will not
// be. An unknown outcome is none of that, whatever it was caused by: a node that
// was made, and could not be looked at because the store was away by then, is one.
func refused(err error) bool {
	if errors.Is(err, coord.ErrUncertain) {
		return false
	}
	return errors.Is(err, coord.ErrUnavailable) || errors.Is(err, coord.ErrInvalid) || errors.Is(err, coord.ErrDenied)
}

// abandon makes sure, on the session's time, that a create whose outcome is
// not known leaves nothing, and only then lets its slot be used again.
func (q *Queue) abandon(e *Entry, id string) {
	e.session.Go(func(ctx context.Context) {
		if persist(ctx, q.client, func(ctx context.Context) error { return e.session.Driver().Abandon(ctx, e.dir, id) }) {
			e.roster.give(e)
		}
	})
}

// persist calls op until it succeeds or ctx, a session's, ends. It reports
// which. Every error is tried again: a permission may come back, and what is
// not cleared up blocks everybody else.
func persist(ctx context.Context, c *coord.Client, op func(context.Context) error) bool {
	for {
		err := c.Retry(ctx, op)
		if err == nil {
			return true
		}
		pause := time.NewTimer(time.Second)
		select {
		case <-ctx.Done(): // the store removes what the session had
			pause.Stop()
			return false
		case <-pause.C:
		}
	}
}
