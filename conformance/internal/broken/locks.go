package broken

import (
	"context"
	"strings"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// lock makes a broken lock of a sound one.
func lock(name, breaks, doc string, spoil func(l subject.ReadWrite) subject.ReadWrite) Recipe[RWLock] {
	return Recipe[RWLock]{name, breaks, doc, func(c *coord.Client, name string) subject.ReadWrite {
		return spoil(subject.RWLock(c, name))
	}}
}

// downgrade makes a reader's hold of a writer's.
type downgrade func(ctx context.Context, h subject.Hold) (subject.Hold, error)

// downgrading makes a broken lock of a sound one, by what its Downgrade returns.
func downgrading(name, breaks, doc string, spoil func(down downgrade) downgrade) Recipe[RWLock] {
	return lock(name, breaks, doc, func(l subject.ReadWrite) subject.ReadWrite {
		l.Downgrade = spoil(l.Downgrade)
		return l
	})
}

// withHold makes a downgrade that returns another hold in place of the sound one.
func withHold(replace func(h subject.Hold) subject.Hold) func(down downgrade) downgrade {
	return func(down downgrade) downgrade {
		return func(ctx context.Context, h subject.Hold) (subject.Hold, error) {
			r, err := down(ctx, h)
			if err != nil {
				return nil, err
			}
			return replace(r), nil
		}
	}
}

// brokenLocks keep the right line and do the wrong thing with it.
func brokenLocks() []Recipe[RWLock] {
	return []Recipe[RWLock]{
		lock("downgrade-leaves-first", "R10", "Downgrade unlocks and joins the line again. (CURATOR-276, -621.)",
			func(l subject.ReadWrite) subject.ReadWrite {
				l.Downgrade = func(ctx context.Context, h subject.Hold) (subject.Hold, error) {
					if err := h.Release(ctx); err != nil {
						return nil, err
					}
					return l.Read.Acquire(ctx)
				}
				return l
			}),
		lock("downgrade-in-name-only", "R10", "Downgrade gives out a reader's hold and keeps the writer's entry.",
			func(l subject.ReadWrite) subject.ReadWrite {
				l.Downgrade = func(_ context.Context, h subject.Hold) (subject.Hold, error) { return l.Read.Acquire(h.Context()) }
				return l
			}),
		downgrading("downgrade-without-values", "R10", "The context after Downgrade has none of the values of the one before.",
			withHold(func(h subject.Hold) subject.Hold { return valueless{h} })),
		downgrading("downgrade-without-looking", "R10", "Downgrade does not ask whether it is still held.",
			func(down downgrade) downgrade {
				return func(ctx context.Context, h subject.Hold) (subject.Hold, error) {
					if r, err := down(ctx, h); err == nil {
						return r, nil
					}
					return h, nil
				}
			}),
		{"downgrade-trouble-is-final", "R10", "Downgrade takes a request that was lost for the answer.", func(c *coord.Client, name string) subject.ReadWrite {
			l := subject.RWLock(c, name)
			down := l.Downgrade
			l.Downgrade = func(ctx context.Context, h subject.Hold) (subject.Hold, error) {
				if err := looksOnce(ctx, c); err != nil {
					return nil, err
				}
				return down(ctx, h)
			}
			return l
		}},
		downgrading("downgraded-are-not-told", "R10", "A writer that was downgraded does not learn that it has lost what it reads under.",
			withHold(func(h subject.Hold) subject.Hold { return untold{h} })),
		downgrading("downgrade-late", "R16", "Downgrade under a ctx that has ended returns when it is convenient.",
			func(down downgrade) downgrade {
				return func(ctx context.Context, h subject.Hold) (subject.Hold, error) { return late(ctx)(down(ctx, h)) }
			}),
		lock("upgrade-waits", "R9", "A reader that wants to write waits, for itself too. (Curator's ReadWriteLock.)",
			func(l subject.ReadWrite) subject.ReadWrite {
				acquire := l.Write.Acquire
				l.Write.Acquire = func(ctx context.Context) (subject.Hold, error) { return acquire(strange{ctx}) }
				return l
			}),
		lock("not-reentrant", "R8", "Who holds the lock waits like everybody else.",
			func(l subject.ReadWrite) subject.ReadWrite {
				read, write := l.Read.Acquire, l.Write.Acquire
				l.Read.Acquire = func(ctx context.Context) (subject.Hold, error) { return read(strange{ctx}) }
				l.Write.Acquire = func(ctx context.Context) (subject.Hold, error) { return write(strange{ctx}) }
				return l
			}),
		lock("without-modes", "R6", "The listing does not say what for.",
			func(l subject.ReadWrite) subject.ReadWrite {
				contenders := l.Read.Contenders
				l.Read.Contenders = func(ctx context.Context) (coord.Contenders, error) {
					c, err := contenders(ctx)
					for i := range c.Waiters {
						c.Waiters[i].Mode = coord.Writing
					}
					return c, err
				}
				return l
			}),
		{"names-folded", "R7", "Names that differ in capitals are one.", func(c *coord.Client, name string) subject.ReadWrite {
			return subject.RWLock(c, strings.ToLower(name))
		}},
	}
}

// strange is a context that carries nothing, and does not speak for a hold.
type strange struct{ context.Context }

func (strange) Value(any) any { return nil }

// valueless is a hold whose context ends as it should and has no values.
type valueless struct{ subject.Hold }

func (h valueless) Context() context.Context { return withoutValues{h.Hold.Context()} }

type withoutValues struct{ context.Context }

func (withoutValues) Value(any) any { return nil }
