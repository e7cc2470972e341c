package broken

import (
	"cmp"
	"context"
	"slices"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/recipes/rwlock"
)

// held is a hold of a line with a wrong rule.
type held struct {
	*coord.Hold
	entry *queue.Entry
}

func (h held) Release(ctx context.Context) error { return h.entry.Release(ctx, h.Hold) }

func (h held) Revoked(ctx context.Context) (coord.Revocation, error) {
	return h.entry.Revoked(ctx, h.Hold)
}

// wants makes a way to want something of a line.
func wants(q *queue.Queue, req queue.Request, describe func(driver.Node, *coord.Contender)) subject.Want {
	hold := func(join func(context.Context, queue.Request) (*queue.Entry, error)) func(context.Context) (subject.Hold, error) {
		return func(ctx context.Context) (subject.Hold, error) {
			e, err := join(ctx, req)
			if err != nil {
				return nil, err
			}
			h, err := e.Hold(ctx)
			if err != nil {
				return nil, err
			}
			return held{h, e}, nil
		}
	}
	w := subject.Want{
		Acquire: hold(q.Acquire), Try: hold(q.TryAcquire), Revoke: q.Revoke,
		Contenders: func(ctx context.Context) (coord.Contenders, error) { return q.Contenders(ctx, describe) },
	}
	w.Do = func(ctx context.Context, fn subject.Func) error {
		h, err := w.Acquire(ctx)
		if err != nil {
			return err
		}
		e := h.(held)
		return e.entry.Do(ctx, e.Hold, func(ctx context.Context) error { return fn(ctx, h.Token()) })
	}
	return w
}

// reentering makes a way to want something one that is entered again under a hold's
// context, by those who refuse does not refuse.
func reentering(q *queue.Queue, refuse func(*queue.Entry) error, w subject.Want) subject.Want {
	again := func(acquire func(context.Context) (subject.Hold, error)) func(context.Context) (subject.Hold, error) {
		return func(ctx context.Context) (subject.Hold, error) {
			if e, h, err := q.Reenter(ctx, refuse); e != nil || err != nil {
				return held{h, e}, err
			}
			return acquire(ctx)
		}
	}
	w.Acquire, w.Try = again(w.Acquire), again(w.Try)
	return w
}

// noUpgrade and mode are what the sound read-write lock refuses and lists.
func noUpgrade(e *queue.Entry) error {
	if queue.Kind(e.Node()) == "w" {
		return nil
	}
	return cmp.Or(e.Err(), rwlock.ErrUpgrade)
}

func mode(n driver.Node, c *coord.Contender) {
	c.Mode = coord.Reading
	if queue.Kind(n) == "w" {
		c.Mode = coord.Writing
	}
}

// line makes a read-write lock of a rule.
func line(name, breaks, doc string, rule queue.Rule) Recipe[RWLock] {
	return Recipe[RWLock]{name, breaks, doc, func(c *coord.Client, name string) subject.ReadWrite {
		q := queue.New(c, "rwlock", name, rule)
		return subject.ReadWrite{
			Read:  reentering(q, nil, wants(q, queue.Request{Kind: "r"}, mode)),
			Write: reentering(q, noUpgrade, wants(q, queue.Request{Kind: "w"}, mode)),
			Downgrade: func(ctx context.Context, h subject.Hold) (subject.Hold, error) {
				wrote := h.(held)
				e, read, err := wrote.entry.Downgrade(ctx, wrote.Hold, queue.Request{Kind: "d"})
				if err != nil {
					return nil, err
				}
				return held{read, e}, nil
			},
		}
	}}
}

// brokenLines are read-write locks with a wrong rule of who waits for whom.
func brokenLines() []Recipe[RWLock] {
	writes := func(n driver.Node) bool { return queue.Kind(n) == "w" }
	ahead := func(line []driver.Node, i int) queue.Verdict {
		if i < 0 {
			return queue.Verdict{}
		}
		return queue.Verdict{Blocked: true, Blocker: line[i]}
	}
	lastWriter := func(line []driver.Node, own int) int {
		for i := own - 1; i >= 0; i-- {
			if writes(line[i]) {
				return i
			}
		}
		return -1
	}
	return []Recipe[RWLock]{
		line("readers-never-wait", "R1", "A reader comes in while a writer holds.",
			func(line []driver.Node, own int) queue.Verdict {
				if !writes(line[own]) {
					return queue.Verdict{}
				}
				return ahead(line, own-1)
			}),
		line("writers-do-not-wait-for-readers", "R1", "A writer waits for the writer ahead only.",
			func(line []driver.Node, own int) queue.Verdict { return ahead(line, lastWriter(line, own)) }),
		line("readers-first", "R2", "A reader waits for a writer that holds, and not for one that waits: writers starve.",
			func(line []driver.Node, own int) queue.Verdict {
				switch {
				case writes(line[own]):
					return ahead(line, own-1)
				case writes(line[0]) && own > 0:
					return ahead(line, 0)
				}
				return queue.Verdict{}
			}),
		line("readers-watch-a-later-writer", "R2", "A reader waits for the last writer of the line, also for one behind it. (kazoo #649.)",
			func(line []driver.Node, own int) queue.Verdict {
				if writes(line[own]) {
					return ahead(line, own-1)
				}
				return ahead(line, lastWriter(line, len(line)))
			}),
		line("one-reader-at-a-time", "R2", "Each waits for the one right ahead.",
			func(line []driver.Node, own int) queue.Verdict { return ahead(line, own-1) }),
		line("readers-watch-the-first-writer", "R5", "A reader waits for the first writer of the line, and is woken for each that is ahead. (Curator's ReadWriteLock.)",
			func(line []driver.Node, own int) queue.Verdict {
				if writes(line[own]) {
					return ahead(line, own-1)
				}
				return ahead(line[:own], slices.IndexFunc(line[:own], writes))
			}),
		line("last-reader-lets-in", "R10", "A writer takes the end of the last entry ahead of it for the grant, though a writer that was downgraded stands in for one.",
			func(line []driver.Node, own int) queue.Verdict {
				switch queue.Kind(line[own]) {
				case "r":
					return ahead(line, lastWriter(line, own))
				case "d":
					return queue.Verdict{}
				}
				if own > 0 {
					return queue.Verdict{Blocked: true, Blocker: line[own-1], Last: own == 1 && !writes(line[0])}
				}
				for i, n := range line {
					if queue.Kind(n) == "d" && queue.InPlaceOf(n) < line[own].Seq {
						return ahead(line, i)
					}
				}
				return queue.Verdict{}
			}),
		line("short-counter", "R21", "The order is that of a counter that begins again. (kazoo #606, #730, #731.)", shortCounter(8)),
	}
}

// shortCounter is a rule that orders by a counter which begins again after so
// many.
func shortCounter(size uint64) queue.Rule {
	return func(line []driver.Node, own int) queue.Verdict {
		first := -1
		for i, n := range line {
			if n.Seq%size < line[own].Seq%size && (first < 0 || n.Seq%size > line[first].Seq%size) {
				first = i
			}
		}
		if first < 0 {
			return queue.Verdict{}
		}
		return queue.Verdict{Blocked: true, Blocker: line[first]}
	}
}
