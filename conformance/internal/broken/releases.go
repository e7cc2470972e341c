package broken

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// releaseMistakes are about how holds end, by a release or a loss.
func releaseMistakes() []mistake {
	return []mistake{
		{
			name: "released-once", breaks: releasePromise,
			doc:   "Releasing again is an error.",
			spoil: holding(func(h subject.Hold) subject.Hold { return &releasedOnce{Hold: h} }),
		},
		{
			name: "release-forgets", breaks: releasePromise,
			doc:   "A release that the store does not answer drops what is known of the hold, so the next one finds nothing to release. (CURATOR-486, -678.)",
			spoil: holding(func(h subject.Hold) subject.Hold { return &forgetful{Hold: h} }),
		},
		{
			name: "release-again-frees-the-next", breaks: releasePromise,
			doc:   "A repeated release frees whatever this process has got since.",
			spoil: releasesLatest,
		},
		{
			name: "release-again-is-done", breaks: releasePromise,
			doc:   "A release that was called before is taken for one that has succeeded.",
			spoil: holding(func(h subject.Hold) subject.Hold { return &releasedAlready{Hold: h} }),
		},
		{
			name: "release-insists", breaks: releasePromise,
			doc:   "A release is tried until it succeeds, which after a loss is never.",
			spoil: holding(func(h subject.Hold) subject.Hold { return insistent{h} }),
		},
		{
			name: "release-hides-loss", breaks: releasePromise,
			doc:   "Who releases what it has lost is not told.",
			spoil: holding(func(h subject.Hold) subject.Hold { return content{h} }),
		},
		{
			name: "own-context-bounds-release", breaks: releasePromise,
			doc:   "Who releases under the hold's own context, which ends by that, is told that it has ended.",
			spoil: holding(func(h subject.Hold) subject.Hold { return bounded{h} }),
		},
		{
			name: "counts-releases", breaks: promise{mutex: "M11", rwlock: "R12"},
			doc:   "Each release of an inner hold counts, so one that is repeated frees the outer.",
			spoil: countsReleases,
		},
		{
			name: "ends-when-released", breaks: lossBeforeHandoffPromise,
			doc:   "A hold's context ends when the store has confirmed the release, which may be after others hold.",
			spoil: holding(func(h subject.Hold) subject.Hold { return newLateEnd(h, coord.ErrSessionLost, 0, true) }),
		},
		{
			name: "without-margin", breaks: promise{mutex: "M23"},
			doc: "A holder is told of its loss only when the lease runs out.",
			spoil: holding(func(h subject.Hold) subject.Hold {
				return newLateEnd(h, coord.ErrSessionLost, h.Session().TTL()/10-time.Millisecond, false)
			}),
		},
		{
			name: "farewell-at-once", breaks: promise{mutex: "M23"},
			doc: "A client whose session is lost closes it in the store at once, and the holder has no time to stop.",
			spoil: holding(func(h subject.Hold) subject.Hold {
				context.AfterFunc(h.Context(), func() {
					if errors.Is(h.Err(), coord.ErrSessionLost) {
						_ = h.Session().Driver().Close(context.WithoutCancel(h.Context())) // until the client is closed
					}
				})
				return h
			}),
		},
	}
}

type releasedOnce struct {
	subject.Hold
	released atomic.Bool
}

func (h *releasedOnce) Release(ctx context.Context) error {
	if h.released.Swap(true) {
		return coord.ErrNotHeld
	}
	return h.Hold.Release(ctx)
}

type forgetful struct {
	subject.Hold
	forgotten atomic.Bool
}

func (h *forgetful) Release(ctx context.Context) error {
	if h.forgotten.Load() {
		return nil
	}
	if _, err := h.Session().Driver().List(ctx, "any"); err != nil && h.Err() == nil {
		h.forgotten.Store(true)
		return err
	}
	return h.Hold.Release(ctx)
}

// latest is what a process has got last, by the name.
type latest struct {
	mu   sync.Mutex
	hold subject.Hold
}

type latestKey string

func releasesLatest(c *coord.Client, name string, w subject.Want) subject.Want {
	return holding(func(h subject.Hold) subject.Hold {
		l := h.Session().Local(latestKey(name), func() any { return new(latest) }).(*latest)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.hold = h
		return &releaser{Hold: h, latest: l}
	})(c, name, w)
}

type releaser struct {
	subject.Hold
	latest   *latest
	released atomic.Bool
}

func (h *releaser) Release(ctx context.Context) error {
	if !h.released.Swap(true) {
		return h.Hold.Release(ctx)
	}
	h.latest.mu.Lock()
	last := h.latest.hold
	h.latest.mu.Unlock()
	return last.Release(ctx)
}

type releasedAlready struct {
	subject.Hold
	released atomic.Bool
}

func (h *releasedAlready) Release(ctx context.Context) error {
	if h.released.Swap(true) && h.Hold.Err() != nil {
		return nil
	}
	return h.Hold.Release(ctx)
}

type insistent struct{ subject.Hold }

func (h insistent) Release(ctx context.Context) error {
	for {
		err := h.Hold.Release(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// content is a hold whose release is satisfied with whatever has become of it.
type content struct{ subject.Hold }

func (h content) Release(ctx context.Context) error {
	if err := h.Hold.Release(ctx); !errors.Is(err, coord.ErrNotHeld) {
		return err
	}
	return nil
}

// bounded is a hold whose release goes by its ctx to the end.
type bounded struct{ subject.Hold }

func (h bounded) Release(ctx context.Context) error {
	if err := h.Hold.Release(ctx); err != nil || ctx.Err() == nil {
		return err
	}
	return ctx.Err()
}

// entries counts the holds of an entry.
type entries struct {
	mu    sync.Mutex
	holds int
	outer subject.Hold
}

type entriesKey string

func countsReleases(c *coord.Client, name string, w subject.Want) subject.Want {
	key := entriesKey(name)
	counted := func(acquire func(context.Context) (subject.Hold, error)) func(context.Context) (subject.Hold, error) {
		return func(ctx context.Context) (subject.Hold, error) {
			h, err := acquire(ctx)
			if err != nil {
				return nil, err
			}
			of, within := ctx.Value(key).(*entries)
			if !within || of.outer.Token() != h.Token() {
				of = &entries{outer: h}
			}
			of.mu.Lock()
			defer of.mu.Unlock()
			of.holds++
			return countedHold{h, of, key}, nil
		}
	}
	w.Acquire, w.Try = counted(w.Acquire), counted(w.Try)
	return w
}

type countedHold struct {
	subject.Hold
	of  *entries
	key entriesKey
}

func (h countedHold) Context() context.Context {
	return context.WithValue(h.Hold.Context(), h.key, h.of)
}

func (h countedHold) Release(ctx context.Context) error {
	h.of.mu.Lock()
	h.of.holds--
	last := h.of.holds <= 0
	h.of.mu.Unlock()
	err := h.Hold.Release(ctx)
	if last && err == nil {
		err = h.of.outer.Release(ctx)
	}
	return err
}
