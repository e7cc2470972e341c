package broken

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

// counting makes a broken semaphore of a sound one.
func counting(name, breaks, doc string, spoil func(s subject.Counting) subject.Counting) Recipe[Semaphore] {
	return Recipe[Semaphore]{name, breaks, doc, func(c *coord.Client, name string, limit int) subject.Counting {
		return spoil(subject.Semaphore(c, name, limit))
	}}
}

// wanting makes a broken semaphore of a sound one, by what its Want returns.
func wanting(name, breaks, doc string, spoil func(w subject.Want) subject.Want) Recipe[Semaphore] {
	return counting(name, breaks, doc, func(s subject.Counting) subject.Counting {
		want := s.Want
		s.Want = func(n int) subject.Want { return spoil(want(n)) }
		return s
	})
}

// brokenSemaphores keep the right line and do the wrong thing with it.
func brokenSemaphores() []Recipe[Semaphore] {
	return []Recipe[Semaphore]{
		counting("one-by-one", "P5", "Several permits are acquired one after the other, so two who want all have half of them each.",
			func(s subject.Counting) subject.Counting {
				want := s.Want
				s.Want = func(n int) subject.Want {
					w, one := want(n), want(1)
					if n > 1 && n < 2000 { // more would take for ever
						w.Acquire = func(ctx context.Context) (subject.Hold, error) { return oneByOne(ctx, one, n) }
					}
					return w
				}
				return s
			}),
		wanting("too-many-wait", "P10", "Who wants more than the limit waits for ever.",
			func(w subject.Want) subject.Want {
				w.Acquire = patient(w.Acquire)
				return w
			}),
		counting("limit-not-told", "P11", "A change of the limit is known to this client only.",
			func(s subject.Counting) subject.Counting {
				s.SetLimit = func(context.Context, int) error { return nil }
				return s
			}),
		counting("limits-late", "P18", "Changing the limit and asking for it take their time.",
			func(s subject.Counting) subject.Counting {
				set, ask := s.SetLimit, s.Limit
				s.SetLimit = func(ctx context.Context, n int) error {
					_, err := late(ctx)(nil, set(ctx, n))
					return err
				}
				s.Limit = func(ctx context.Context) (int, int, error) {
					limit, used, err := ask(ctx)
					_, err = late(ctx)(nil, err)
					return limit, used, err
				}
				return s
			}),
		wanting("mismatch-without-details", "P9", "Who was given another limit is told only that it is invalid.",
			func(w subject.Want) subject.Want {
				acquire := w.Acquire
				w.Acquire = func(ctx context.Context) (subject.Hold, error) {
					h, err := acquire(ctx)
					if errors.Is(err, semaphore.ErrLimit) {
						err = coord.ErrInvalid
					}
					return h, err
				}
				return w
			}),
		wanting("without-permits", "P7", "The listing does not say how many.",
			func(w subject.Want) subject.Want {
				contenders := w.Contenders
				w.Contenders = func(ctx context.Context) (coord.Contenders, error) {
					c, err := contenders(ctx)
					for i := range c.Waiters {
						c.Waiters[i].Permits = 1
					}
					return c, err
				}
				return w
			}),
		{"names-folded", "P8", "Names that differ in capitals are one.",
			func(c *coord.Client, name string, limit int) subject.Counting {
				return subject.Semaphore(c, strings.ToLower(name), limit)
			}},
	}
}

// patient waits where it should fail.
func patient(acquire func(context.Context) (subject.Hold, error)) func(context.Context) (subject.Hold, error) {
	return func(ctx context.Context) (subject.Hold, error) {
		h, err := acquire(ctx)
		if errors.Is(err, coord.ErrInvalid) {
			<-ctx.Done()
		}
		return h, err
	}
}

// parts are several holds as one.
type parts struct {
	subject.Hold // the last
	all          []subject.Hold
}

func oneByOne(ctx context.Context, one subject.Want, n int) (subject.Hold, error) {
	p := &parts{}
	for range n {
		time.Sleep(time.Millisecond) // for the other one to get its half
		h, err := one.Acquire(ctx)
		if err != nil {
			for _, h := range p.all {
				_ = h.Release(context.WithoutCancel(ctx))
			}
			return nil, err
		}
		p.all, p.Hold = append(p.all, h), h
	}
	return p, nil
}

func (p *parts) Release(ctx context.Context) error {
	for _, h := range p.all {
		if err := h.Release(ctx); err != nil {
			return err
		}
	}
	return nil
}
