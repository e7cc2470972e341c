package election

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// runner is a Run under way.
type runner struct {
	*Election
	value []byte
	fn    func(context.Context, *Leadership) error
	opts  RunOptions
	log   *zap.Logger

	// busy has room for one: whoever runs a function for this election on this
	// client. Usually the line sees to that, since a function returns before its
	// leadership is given up; but a lost one is over before the function knows.
	busy chan struct{}
}

// busyKey finds the runner's busy among what recipes keep about a client.
type busyKey struct{ name string }

func (e *Election) runner(value []byte, fn func(context.Context, *Leadership) error, o RunOptions) *runner {
	return &runner{
		Election: e,
		value:    value,
		fn:       fn,
		opts:     o,
		log:      e.client.Logger().With(zap.String("recipe", e.what)),
		busy:     e.client.Local(busyKey{e.name}, func() any { return make(chan struct{}, 1) }).(chan struct{}),
	}
}

// stand is one campaign with what follows from it. It reports whether there is
// to be another, and if not, what Run returns; and whether this one was won.
func (r *runner) stand(ctx context.Context) (again, elected bool, _ error) {
	l, err := r.Campaign(ctx, r.value)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return false, false, stopped(ctx, err)
	case r.hopeless(err):
		return false, false, err
	default:
		r.log.Warn("campaign failed", zap.Error(err))
		return true, false, nil
	}
	select {
	case r.busy <- struct{}{}:
	default: // a function has outlived its leadership: let others lead, until it is done
		r.log.Warn("elected while a function still runs whose leadership was lost; stepping down", zap.Uint64("token", l.Token()))
		_ = l.Resign(ctx) // what is not confirmed goes on in the background
		select {
		case r.busy <- struct{}{}:
			<-r.busy
		case <-ctx.Done(): // the next campaign says so
		}
		return true, true, nil
	}
	r.log.Info("elected", zap.Uint64("token", l.Token()))
	err = r.term(ctx, l)
	over := l.Err() // of the resigning, if nothing was earlier
	lost := !errors.Is(over, coord.ErrReleased)
	switch {
	case ctx.Err() != nil:
		return false, true, stopped(ctx, err)
	case !lost && !errors.Is(err, ErrStepDown):
		return false, true, err
	case lost && r.hopeless(over):
		return false, true, with(over, err)
	}
	r.log.Warn("defeated", zap.Uint64("token", l.Token()), zap.NamedError("why", over), zap.Error(err))
	if r.opts.Defeated != nil {
		r.opts.Defeated(l, err)
	}
	return true, true, nil
}

// term runs the function and resigns, whichever way it ends.
func (r *runner) term(ctx context.Context, l *Leadership) error {
	work, cancel := l.Within(ctx)
	defer func() {
		cancel()
		<-r.busy
		_ = l.Resign(ctx) // what is not confirmed goes on in the background
	}()
	if r.opts.Elected != nil {
		r.opts.Elected(l)
	}
	return r.fn(work, l)
}

// hopeless reports whether campaigning again would end with the same error.
func (r *runner) hopeless(err error) bool {
	for _, final := range []error{coord.ErrClosed, coord.ErrDenied, coord.ErrInvalid, coord.ErrUnsupported} {
		if errors.Is(err, final) {
			return true
		}
	}
	return r.session != nil && r.session.Err() != nil
}

// stopped is what Run returns when ctx has ended and err is what came of it.
func stopped(ctx context.Context, err error) error { return with(driver.ContextError(ctx), err) }

// with adds err to why, unless why says it all. A function that returns its ctx's
// error adds nothing.
func with(why, err error) error {
	if err == nil || err == context.Canceled || errors.Is(why, err) {
		return why
	}
	return errors.Join(why, err)
}

// rest waits for about the pause given, so that candidates that were defeated
// together do not come back together.
func rest(ctx context.Context, pause time.Duration) {
	select {
	case <-time.After(pause/2 + rand.N(pause)):
	case <-ctx.Done(): // the next campaign says so
	}
}
