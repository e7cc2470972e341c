package broken

import (
	"context"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

type result struct {
	hold subject.Hold
	err  error
}

// late delays what is returned after the end of ctx.
func late(ctx context.Context) func(subject.Hold, error) (subject.Hold, error) {
	return func(h subject.Hold, err error) (subject.Hold, error) {
		if ctx.Err() != nil {
			time.Sleep(time.Second / 4)
		}
		return h, err
	}
}

// holding makes a mistake with every hold.
func holding(spoil func(subject.Hold) subject.Hold) func(*coord.Client, string, subject.Want) subject.Want {
	return func(_ *coord.Client, _ string, w subject.Want) subject.Want {
		acquire, try := w.Acquire, w.Try
		spoiled := func(h subject.Hold, err error) (subject.Hold, error) {
			if err != nil {
				return nil, err
			}
			return spoil(h), nil
		}
		w.Acquire = func(ctx context.Context) (subject.Hold, error) { return spoiled(acquire(ctx)) }
		w.Try = func(ctx context.Context) (subject.Hold, error) { return spoiled(try(ctx)) }
		return w
	}
}

// untold holds do not end, as far as anybody can see.
type untold struct{ subject.Hold }

func (h untold) Context() context.Context { return context.WithoutCancel(h.Hold.Context()) }
func (h untold) Done() <-chan struct{}    { return nil }
func (h untold) Err() error               { return nil }

// What a client or session keeps is found by these.
type (
	tokenKey struct{}
	tryKey   struct{}
)

type tokened struct {
	subject.Hold
	token uint64
}

func (h tokened) Token() uint64 { return h.token }

type enteredKey string

// entered is a hold that its context carries.
type entered struct {
	subject.Hold
	key enteredKey
}

func (h entered) Context() context.Context {
	return context.WithValue(h.Hold.Context(), h.key, h)
}

// Release is left to the outermost.
func (h entered) Release(ctx context.Context) error { return h.Hold.Release(ctx) }

func reentersAnything(c *coord.Client, name string, w subject.Want) subject.Want {
	key := enteredKey(name)
	w = holding(func(h subject.Hold) subject.Hold { return entered{h, key} })(c, name, w)
	again := func(acquire func(context.Context) (subject.Hold, error)) func(context.Context) (subject.Hold, error) {
		return func(ctx context.Context) (subject.Hold, error) {
			if h, ok := ctx.Value(key).(entered); ok {
				return h, nil
			}
			return acquire(ctx)
		}
	}
	w.Acquire, w.Try = again(w.Acquire), again(w.Try)
	return w
}

func losesWakeups(c *coord.Client, _ string, w subject.Want) subject.Want {
	acquire := w.Acquire
	w.Acquire = func(ctx context.Context) (subject.Hold, error) {
		got := make(chan result, 1)
		go func() {
			h, err := acquire(ctx)
			got <- result{h, err}
		}()
		for {
			timer := time.NewTimer(5 * time.Millisecond)
			select {
			case r := <-got:
				timer.Stop()
				return r.hold, r.err
			case <-timer.C:
			}
			if reaches(ctx, c) {
				continue
			}
			r := <-got
			if r.err != nil {
				return nil, r.err
			}
			_ = r.hold.Release(ctx)
			select {
			case <-ctx.Done():
			case <-r.hold.Session().Done():
			}
			return nil, coord.ErrClosed
		}
	}
	return w
}

// reaches reports whether the store answers in no time.
func reaches(ctx context.Context, c *coord.Client) bool {
	look, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	_, err := c.List(look, "nothing")
	return err == nil
}
