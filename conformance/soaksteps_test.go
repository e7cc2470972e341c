package conformance_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/conformance/soak"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/queue"
)

// brokenSteps are recipes with a sound rule, of which another step is broken.
func brokenSteps() []broken {
	fair := standing(turns, queue.Request{})
	change := func(hold func(taken) soak.Hold) []soak.Want {
		s := fair
		s.hold = hold
		return []soak.Want{wanted(history.Exclusive, 0, s)}
	}
	replace := func(acquire, try func(context.Context, *coord.Client) (soak.Hold, error)) []soak.Want {
		want := wanted(history.Exclusive, 0, fair)
		if acquire != nil {
			want.Acquire = heedless(acquire)
		}
		if try != nil {
			want.Try = heedless(try)
		}
		return []soak.Want{want}
	}
	return []broken{
		{
			name: "drawn-by-lot", doc: "Places are given in order, and whoever has one tries its luck.",
			wants: replace(drawn, func(context.Context, *coord.Client) (soak.Hold, error) { return nil, coord.ErrBusy }),
		},
		{
			name: "polling", doc: "Whoever waits tries again after a while: who came first may get it last.",
			wants: replace(func(ctx context.Context, c *coord.Client) (soak.Hold, error) { return poll(ctx, c, fair) }, nil),
		},
		{
			name: "try-leaves-its-entry", doc: "A try that fails leaves its entry in the line. (kazoo#732.)",
			wants: replace(nil, tryAndStay),
		},
		{
			name: "deadline-ignored", doc: "The deadline is looked at when the wait is over.",
			wants: replace(func(ctx context.Context, c *coord.Client) (soak.Hold, error) {
				long, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute) // it may wait for its own program
				defer cancel()
				h, err := fair.acquire(long, c)
				if err == nil && ctx.Err() != nil {
					_ = h.Release(context.WithoutCancel(ctx))
					return nil, ctx.Err()
				}
				return h, err
			}, nil),
		},
		{
			name: "loss-untold", doc: "A hold does not end when its session does. (Curator's and kazoo's locks.)",
			wants: change(func(h taken) soak.Hold {
				u := untold{taken: h}
				u.ctx, u.cancel = context.WithCancel(context.WithoutCancel(h.Context()))
				return u
			}),
		},
		{
			name: "release-forgets-the-entry", doc: "A release ends the hold and leaves the entry.",
			wants: change(func(h taken) soak.Hold { return forgetful{h} }),
		},
		{
			name: "token-of-the-client", doc: "The token is a counter of the client.",
			wants: change(func(h taken) soak.Hold {
				n := h.Session().Client().Local(counter{}, func() any { return new(atomic.Uint64) }).(*atomic.Uint64)
				return numbered{h, n.Add(1)}
			}),
		},
	}
}

// brokenLine is where the entries of broken recipes stand.
const brokenLine = "line"

func (b broken) recipe() soak.Recipe {
	dir, err := coord.Dir("broken", brokenLine)
	if err != nil { // of constants
		panic(err)
	}
	return soak.Recipe{
		Name: b.name, Dir: dir, Limits: b.limits, Wants: b.wants,
	}
}

func queueOf(c *coord.Client, rule queue.Rule) *queue.Queue {
	return queue.New(c, "broken", brokenLine, rule)
}

// taken is a hold as sound recipes give it.
type taken struct {
	*coord.Hold
	entry *queue.Entry
}

func (h taken) Release(ctx context.Context) error { return h.entry.Release(ctx, h.Hold) }

func (h taken) Revoked(ctx context.Context) (coord.Revocation, error) {
	return h.entry.Revoked(ctx, h.Hold)
}

// stand is how to take a place in the line, and what is made of it.
type stand struct {
	rule    queue.Rule
	request queue.Request
	hold    func(taken) soak.Hold
}

func standing(rule queue.Rule, r queue.Request) stand {
	return stand{rule, r, func(h taken) soak.Hold { return h }}
}

func (s stand) take(ctx context.Context, join func(context.Context, queue.Request) (*queue.Entry, error)) (soak.Hold, error) {
	e, err := join(ctx, s.request)
	if err != nil {
		return nil, err
	}
	h, err := e.Hold(ctx)
	if err != nil {
		return nil, err
	}
	return s.hold(taken{h, e}), nil
}

func (s stand) acquire(ctx context.Context, c *coord.Client) (soak.Hold, error) {
	return s.take(ctx, queueOf(c, s.rule).Acquire)
}

func (s stand) try(ctx context.Context, c *coord.Client) (soak.Hold, error) {
	return s.take(ctx, queueOf(c, s.rule).TryAcquire)
}

// wanted makes a way to want what somebody stands for.
func wanted(kind history.Kind, permits int, s stand) soak.Want {
	return soak.Want{Kind: kind, Permits: permits, Acquire: heedless(s.acquire), Try: heedless(s.try)}
}

// heedless tells the history nothing.
func heedless(f func(context.Context, *coord.Client) (soak.Hold, error)) func(context.Context, soak.User, *history.Op) (soak.Hold, error) {
	return func(ctx context.Context, u soak.User, _ *history.Op) (soak.Hold, error) { return f(ctx, u.Client) }
}

// poll tries again and again.
func poll(ctx context.Context, c *coord.Client, s stand) (soak.Hold, error) {
	for {
		h, err := s.try(ctx, c)
		if !errors.Is(err, coord.ErrBusy) {
			return h, err
		}
		if soak.Pause(ctx, rand.N(100*time.Millisecond)); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// drawn takes a place in the line, and gets the lock that is drawn for, with the
// token of the place.
func drawn(ctx context.Context, c *coord.Client) (soak.Hold, error) {
	place, err := queueOf(c, anybody).Acquire(ctx, queue.Request{})
	if err != nil {
		return nil, err
	}
	lot := queue.New(c, "broken", "lot", turns)
	s := standing(turns, queue.Request{})
	for {
		h, err := s.take(ctx, lot.TryAcquire)
		if err == nil {
			return lucky{h.(taken), place}, nil
		}
		if !errors.Is(err, coord.ErrBusy) || ctx.Err() != nil {
			over, cancel := context.WithCancel(ctx)
			cancel()
			_ = place.Leave(over) // it goes on in the background
			return nil, err
		}
		soak.Pause(ctx, rand.N(100*time.Millisecond))
	}
}

type lucky struct {
	taken
	place *queue.Entry
}

func (h lucky) Token() uint64 { return h.place.Node().Token }

func (h lucky) Release(ctx context.Context) error {
	_ = h.place.Leave(ctx) // if need be it goes on in the background
	return h.taken.Release(ctx)
}

// tryAndStay joins the line, and gets the lock if it is the first.
func tryAndStay(ctx context.Context, c *coord.Client) (soak.Hold, error) {
	h, err := standing(anybody, queue.Request{}).acquire(ctx, c)
	if err != nil {
		return nil, err
	}
	line, err := queueOf(c, turns).Contenders(ctx, nil)
	if err == nil && (len(line.Holders) != 1 || line.Holders[0].Token != h.Token()) {
		err = coord.ErrBusy
	}
	if err != nil {
		h.(taken).End(nil)
		return nil, err
	}
	return h, nil
}

// untold is a hold of which nobody hears that it is lost.
type untold struct {
	taken
	ctx    context.Context
	cancel context.CancelFunc
}

func (h untold) Context() context.Context { return h.ctx }
func (h untold) Err() error               { return h.ctx.Err() }

func (h untold) Release(ctx context.Context) error {
	h.cancel()
	return h.taken.Release(ctx)
}

type forgetful struct{ taken }

func (h forgetful) Release(context.Context) error {
	h.End(nil)
	return nil
}

type numbered struct {
	taken
	token uint64
}

func (h numbered) Token() uint64 { return h.token }

type counter struct{}
