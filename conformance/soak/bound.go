package soak

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// bound is the ctx of a call. It knows when it ended.
type bound struct {
	context.Context
	end     context.CancelFunc
	endedAt atomic.Pointer[time.Time]
	ignored bool // it bounds nothing
}

// errProgram is why a program ends the ctx of a call.
var errProgram = errors.New("the program has changed its mind")

// within makes the ctx of a call that ends with parent and with none of its own.
func within(parent context.Context) *bound {
	ctx, cancel := context.WithCancel(parent)
	return bind(ctx, cancel)
}

func bind(ctx context.Context, cancel context.CancelFunc) *bound {
	b := &bound{Context: ctx, end: cancel}
	context.AfterFunc(ctx, func() {
		now := time.Now()
		b.endedAt.Store(&now)
	})
	return b
}

// bound makes the ctx of a call about a recipe. Some have ended before the call is
// made, some end while it is under way, at a time of any size or when somebody
// releases the recipe, and most of those that need not end do not.
func (w *worker) bound(parent context.Context, recipe string, must bool) *bound {
	if !must && w.rng.IntN(w.mix.bounded) > 0 {
		return within(parent)
	}
	switch w.rng.IntN(8) {
	case 0:
		b := within(parent)
		b.end()
		return b
	case 1, 2:
		ctx, cancel := context.WithCancelCause(parent)
		most := w.run.h.TTL
		if must { // if nobody releases it
			var drop context.CancelFunc
			ctx, drop = context.WithTimeout(ctx, most)
			context.AfterFunc(ctx, drop)
		}
		b := bind(ctx, func() { cancel(nil) })
		late := time.Duration(0)
		if w.rng.IntN(2) == 0 {
			late = anyTime(w.rng, most/50)
		}
		stop := context.AfterFunc(w.run.turns.next(recipe), func() {
			if late > 0 {
				Pause(ctx, late)
			}
			cancel(errProgram)
		})
		context.AfterFunc(ctx, func() { stop() })
		return b
	}
	return bind(context.WithTimeout(parent, anyTime(w.rng, w.run.h.TTL)))
}

// over says how the ctx has ended, or is nil. A call that has its deadline too may see
// it a moment before.
func (b *bound) over() error {
	if due, any := b.Deadline(); any && b.Err() == nil && !time.Now().Before(due) {
		return context.DeadlineExceeded
	}
	return b.Err()
}

// overdue is how much longer than its ctx allowed a call took that began at a time
// and has returned by now.
func (b *bound) overdue(began time.Time) time.Duration {
	at := b.endedAt.Load()
	if at == nil || b.ignored {
		return 0
	}
	return min(time.Since(*at), time.Since(began))
}

// turns are the releases of recipes, for those who do something at that moment.
type turns struct {
	mu  sync.Mutex
	all map[string]turn
}

type turn struct {
	ctx context.Context
	end context.CancelFunc
}

// next is a context that ends with the next release of a recipe.
func (t *turns) next(recipe string) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = make(map[string]turn)
	}
	if t.all[recipe].ctx == nil {
		ctx, cancel := context.WithCancel(context.Background())
		t.all[recipe] = turn{ctx, cancel}
	}
	return t.all[recipe].ctx
}

// released ends what waits for a release.
func (t *turns) released(recipe string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.all[recipe]; one.ctx != nil {
		one.end()
		delete(t.all, recipe)
	}
}
