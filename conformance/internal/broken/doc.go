// Package broken holds recipes that are broken on purpose, in ways in which
// recipe libraries have been, to show that the rules of the recipes catch what
// they claim to catch.
package broken

import (
	"context"
	"slices"
	"sync"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/queue"
)

// Recipe is a recipe that is broken; Open makes it, with the parameters of the
// sound one in package subject.
type Recipe[Open any] struct {
	// Name says what is wrong, in a few words joined by hyphens.
	Name string
	// Breaks is the ID of a rule that must fail.
	Breaks string
	// Doc says what it does, and which library did so.
	Doc  string
	Open Open
}

// Mutex, RWLock, Semaphore and Election are how recipes are made.
type (
	Mutex     = func(c *coord.Client, name string) subject.Want
	RWLock    = func(c *coord.Client, name string) subject.ReadWrite
	Semaphore = func(c *coord.Client, name string, limit int) subject.Counting
	Election  = func(c *coord.Client, name string) subject.Electing
)

// mistake is made with any recipe: it breaks a way to want something.
type mistake struct {
	name, doc string
	breaks    promise
	spoil     func(c *coord.Client, name string, w subject.Want) subject.Want
}

// Mutexes returns the broken mutexes.
func Mutexes() []Recipe[Mutex] {
	all := []Recipe[Mutex]{
		{"short-counter", "M21", "The order is that of a counter that begins again. (kazoo #606, #730, #731.)", func(c *coord.Client, name string) subject.Want {
			return wants(queue.New(c, "mutex", name, shortCounter(8)), queue.Request{}, nil)
		}},
	}
	for _, m := range mistakes() {
		if m.breaks.mutex != "" {
			all = append(all, Recipe[Mutex]{m.name, m.breaks.mutex, m.doc, func(c *coord.Client, name string) subject.Want {
				return m.spoil(c, name, subject.Mutex(c, name))
			}})
		}
	}
	return all
}

// RWLocks returns the broken read-write locks.
func RWLocks() []Recipe[RWLock] {
	all := append(brokenLocks(), brokenLines()...)
	for _, m := range mistakes() {
		if m.breaks.rwlock != "" {
			all = append(all, Recipe[RWLock]{m.name, m.breaks.rwlock, m.doc, func(c *coord.Client, name string) subject.ReadWrite {
				l := subject.RWLock(c, name)
				sound := c.Local(soundKey{}, func() any { return new(sync.Map) }).(*sync.Map)
				l.Write = keeping(l.Write, sound)
				l.Read, l.Write = m.spoil(c, name, l.Read), m.spoil(c, name, l.Write)
				downgrade := l.Downgrade
				l.Downgrade = func(ctx context.Context, h subject.Hold) (subject.Hold, error) {
					if s, ok := sound.Load(h.Token()); ok {
						h = s.(subject.Hold)
					}
					return downgrade(ctx, h)
				}
				return l
			}})
		}
	}
	return all
}

// soundKey finds a client's holds, by their tokens.
type soundKey struct{}

// keeping keeps the holds that are acquired, as they are before a mistake is made with
// them.
func keeping(w subject.Want, sound *sync.Map) subject.Want {
	keep := func(acquire func(context.Context) (subject.Hold, error)) func(context.Context) (subject.Hold, error) {
		return func(ctx context.Context) (subject.Hold, error) {
			h, err := acquire(ctx)
			if err == nil {
				sound.LoadOrStore(h.Token(), h) // the outermost
			}
			return h, err
		}
	}
	w.Acquire, w.Try = keep(w.Acquire), keep(w.Try)
	return w
}

// Semaphores returns the broken semaphores.
func Semaphores() []Recipe[Semaphore] {
	all := slices.Concat(brokenSemaphores(), brokenCounts(), brokenLimits(), brokenLarge())
	for _, m := range mistakes() {
		if m.breaks.semaphore != "" {
			all = append(all, Recipe[Semaphore]{m.name, m.breaks.semaphore, m.doc, func(c *coord.Client, name string, limit int) subject.Counting {
				s := subject.Semaphore(c, name, limit)
				want := s.Want
				s.Want = func(n int) subject.Want { return m.spoil(c, name, want(n)) }
				return s
			}})
		}
	}
	return all
}
