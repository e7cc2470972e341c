package election

import (
	"bytes"
	"context"
	"errors"
	"time"
)

// ErrStepDown is what a function that Run runs returns, alone or wrapped, to resign and
// stand again: when it was asked to step down, or cannot do its work here and now.
// Another candidate gets the chance to.
var ErrStepDown = errors.New("step down and stand again")

// RunOptions are the settings of Run. The zero value is a sensible default.
type RunOptions struct {
	// Elected is called when Run was elected, before the function begins. Defeated is
	// not its counterpart: what is to be undone after each leadership belongs to the
	// function.
	Elected func(l *Leadership)

	// Defeated is called when a leadership has ended and Run will stand again,
	// after the function has returned err. l.Err says why: it Is
	// coord.ErrSessionLost or coord.ErrRemoved after a loss, and
	// coord.ErrReleased if it stepped down.
	Defeated func(l *Leadership, err error)

	// MinBackoff and MaxBackoff bound the pause before Run campaigns again. Each pause
	// is twice the one before, random by half, until a campaign has led to a leadership
	// and both together have lasted for MaxBackoff. The defaults are 100 ms, so that a
	// defeated candidate does not come first again, and 5 s, well below the usual TTL.
	MinBackoff, MaxBackoff time.Duration
}

// The defaults of RunOptions.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// Run leads as often as it can: it campaigns with a copy of value, runs fn as the
// leader, resigns when fn has returned, and not before, and campaigns again after a
// loss. The ctx of fn ends with the leadership, and when ctx ends. opts may be nil. The
// callbacks run on the goroutine that called Run, in order with fn: while one runs
// nothing else happens, except that l's context may end.
//
// What fn's return means depends on the leadership. If fn returns while it stands,
// Run resigns and returns fn's error, unless that Is ErrStepDown: this process is no
// candidate any more. If the leadership was lost, Run campaigns again, whatever fn
// returned; Defeated and the client's log are told. If fn panics, Run resigns and the
// panic goes on.
//
// When ctx ends but the leadership stands, fn may finish its work under l.Context(),
// which ends only with the leadership. No other candidate leads until fn has returned.
//
// Run stops when ctx ends, as soon as fn has returned: the error then Is ctx's
// error, and fn's if that is another. It does not wait until the store has confirmed
// that it resigned; the client's Close does. It also returns what campaigning again does
// not mend: an error that Is coord.ErrClosed, coord.ErrDenied, coord.ErrInvalid or
// coord.ErrUnsupported, and the loss of a session that was given by
// coord.WithSession. Every other failure, as a store that cannot be reached for
// hours, it answers with another campaign after a pause.
//
// No two functions that were given to Run for one election run at the same time on one
// client, which serves a whole program. A function that does not heed its ctx keeps Run
// waiting when its leadership is lost; another Run of the same election that is elected
// meanwhile lets others lead, and stands again when the function has returned. Other
// processes do not wait: only the token fences what such a function still writes.
func (e *Election) Run(ctx context.Context, value []byte, fn func(ctx context.Context, l *Leadership) error, opts *RunOptions) error {
	r := e.runner(bytes.Clone(value), fn, opts.withDefaults())
	pause := r.opts.MinBackoff
	for {
		began := time.Now()
		again, elected, err := r.stand(ctx)
		if !again {
			return err
		}
		if elected && time.Since(began) > r.opts.MaxBackoff {
			pause = r.opts.MinBackoff
		}
		rest(ctx, pause)
		pause = min(2*pause, r.opts.MaxBackoff)
	}
}

func (o *RunOptions) withDefaults() RunOptions {
	var d RunOptions
	if o != nil {
		d = *o
	}
	if d.MinBackoff <= 0 {
		d.MinBackoff = minBackoff
	}
	if d.MaxBackoff <= 0 {
		d.MaxBackoff = maxBackoff
	}
	d.MaxBackoff = max(d.MaxBackoff, d.MinBackoff)
	return d
}
