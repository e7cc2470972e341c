package mem

import (
	"context"
	"errors"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// call says what a call is and what bounds it beside its ctx.
type call struct {
	op    Op
	key   string          // what it is about, for errors
	limit time.Duration   // of an attempt; 0: none
	quit  <-chan struct{} // closed when the answer is of no use any more; may be nil
}

// Why a call failed on the way.
var (
	errRefused = errors.New("connection refused")
	errReset   = errors.New("connection reset")
	errNoReply = errors.New("no reply in time")
	errQuit    = errors.New("session or connection has ended") // never leaves the package
)

// ask makes a call over the link: serve runs at the store with q.
func ask[Q, R any](ctx context.Context, l *Link, c call, q Q, serve func(*Store, Q) (R, error)) (R, error) {
	if !l.faulty.Load() {
		return serve(l.store, q) // prompt: no ctx can matter
	}
	return askSlowly(ctx, l, c, q, serve)
}

func askSlowly[Q, R any](ctx context.Context, l *Link, c call, q Q, serve func(*Store, Q) (R, error)) (R, error) {
	var none R
	var reply struct { // written before done is closed, read after
		r   R
		err error
	}
	m := l.send(c, func() { reply.r, reply.err = serve(l.store, q) })
	if err := m.wait(ctx); err != nil {
		return none, err
	}
	return reply.r, reply.err
}

// wait returns nil when the reply has arrived, at the latest when ctx or quit
// ends or the attempt has lasted for its limit.
func (m *message) wait(ctx context.Context) error {
	var late <-chan time.Time // nil, which never comes, without a limit
	if m.call.limit > 0 {
		timer := time.NewTimer(m.call.limit)
		defer timer.Stop()
		late = timer.C
	}
	why := errNoReply
	// A reply that is there counts, whatever else is ready too: it is the truth
	// about the call. So done is looked at first, and again after the others.
	select {
	case <-m.done:
	default:
		select {
		case <-m.done:
		case <-late:
		case <-m.call.quit:
		case <-ctx.Done():
			why = ctx.Err()
		}
	}
	// But after the end of its session no call succeeds.
	select {
	case <-m.call.quit:
		return errQuit
	default:
	}
	select {
	case <-m.done:
		return m.fate
	default:
		return &driver.Error{Op: string(m.call.op), Store: scheme, Key: m.call.key, Kind: driver.ErrUncertain, Err: why}
	}
}
