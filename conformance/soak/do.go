package soak

import (
	"context"
	"errors"
	"time"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/coord"
)

// doHold is what a function that Do runs knows of the hold.
type doHold struct {
	ctx     context.Context
	token   uint64
	session *coord.Session
}

func (h doHold) Context() context.Context { return h.ctx }
func (h doHold) Token() uint64            { return h.token }
func (h doHold) Session() *coord.Session  { return h.session }
func (h doHold) Err() error               { return context.Cause(h.ctx) }

func (h doHold) Release(context.Context) error { return nil } // Do does

func (h doHold) Revoked(context.Context) (coord.Revocation, error) {
	return coord.Revocation{}, coord.ErrUnsupported // a function cannot listen
}

// errDone is what functions return.
var errDone = errors.New("the function has ended")

// do has Do acquire, use and release. Its function returns, fails or panics.
func (w *worker) do(ctx context.Context, b *bound, h *hold) bool {
	before, _ := w.session(b, h.user)
	how := w.rng.IntN(3)
	var lost error
	ran := false
	ended := time.Now()
	panicked, err := caught(func() error {
		return h.want.Do(b, h.user, h.op, func(work context.Context, token uint64) error {
			ran = true
			// The session is known if it was the same before: none comes back.
			session, _ := w.session(b, h.user)
			h.all = []held{{doHold{work, token, session}, h.want.Kind}}
			id := ""
			if session != nil && session == before {
				id = session.ID()
			}
			h.op.Granted(h.all[0], id)
			w.use(ctx, h)
			for len(h.all) > 1 {
				w.leaveOne(ctx, h)
			}
			if why := context.Cause(work); b.Err() == nil && errors.Is(why, coord.ErrNotHeld) {
				lost = why
			}
			h.op.Releasing(lost)
			w.run.turns.released(h.recipe.Name)
			ended = time.Now()
			switch how {
			case 0:
				return nil
			case 1:
				return errDone
			}
			panic(errDone)
		})
	})
	late := b.overdue(ended)
	if !ran {
		h.op.Failed(err, b.over(), late)
		return false
	}
	h.op.Released(lost != nil || errors.Is(err, coord.ErrNotHeld), nil, late)
	w.judgeDo(h, how, err, panicked, lost)
	return true
}

// judgeDo judges what Do returned of a function that has returned (0), failed (1) or
// panicked (2), and of a loss.
func (w *worker) judgeDo(h *hold, how int, err error, panicked any, lost error) {
	bad := func(format string, args ...any) {
		w.run.history.Violated(history.Wrapped, h.recipe.Name, "%s: Do of %s "+format, append([]any{w.name, h.recipe.Name}, args...)...)
	}
	switch {
	case how == 2 && panicked != error(errDone):
		bad("returned %v when its function panicked, and the panic is %v", err, panicked)
	case how == 2:
	case panicked != nil:
		panic(panicked)
	case how == 1 && !errors.Is(err, errDone):
		bad("returned %v when its function failed with %v", err, errDone)
	case lost != nil && !errors.Is(err, coord.ErrNotHeld):
		bad("returned %v when the hold was lost: %v", err, lost)
	case how == 0 && err != nil && !errors.Is(err, coord.ErrNotHeld):
		bad("returned %v when its function succeeded", err)
	}
}

// caught calls f and returns what it panicked with.
func caught(f func() error) (panicked any, err error) {
	defer func() { panicked = recover() }()
	return nil, f()
}

// session is the one that the user acquires with.
func (w *worker) session(ctx context.Context, u User) (*coord.Session, error) {
	if u.Own != nil {
		return u.Own, nil
	}
	return u.Session(ctx)
}
