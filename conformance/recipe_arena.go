package conformance

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// arena is a trial in which clients compete for what one recipe gives.
type arena struct {
	*Trial
	kind string // the recipe's
}

// dir is the directory of the line, and asks that of the requests for a
// revocation.
func (a arena) dir() string  { return a.dirOf(a.kind) }
func (a arena) asks() string { return a.dirOf(a.kind + "-revoke") }

func (a arena) dirOf(kind string) string {
	d, err := coord.Dir(kind, name)
	if err != nil {
		a.Fatalf("%v", err)
	}
	return d
}

// bid is an acquire under way.
type bid struct {
	what string // whose it is, for failures
	hold subject.Hold
	err  error
	over <-chan struct{}
}

// result describes what an acquire has returned.
func result(h subject.Hold, err error) string {
	if err != nil {
		return fmt.Sprintf("the error %q", err)
	}
	return fmt.Sprintf("a hold with token %d", h.Token())
}

// bid begins to acquire.
func (a arena) bid(ctx context.Context, what string, w subject.Want) *bid {
	b := &bid{what: what}
	b.over = a.Go(func() { b.hold, b.err = w.Acquire(ctx) })
	return b
}

// join begins to acquire and returns when the line has so many entries, holders
// included.
func (a arena) join(ctx context.Context, what string, w subject.Want, entries int) *bid {
	b := a.bid(ctx, what, w)
	a.entries(entries)
	return b
}

// take acquires, and must.
func (a arena) take(w subject.Want) subject.Hold {
	return a.wins(a.bid(a.ctx, "who finds nobody in the way", w))
}

// wins waits for an acquire to succeed.
func (a arena) wins(b *bid) subject.Hold {
	if !a.within(a.patience()+a.h.Expiry, b.over) {
		a.Fatalf("%s: the acquire does not return", b.what)
	}
	if b.err != nil {
		a.Fatalf("%s: the acquire failed: %v", b.what, b.err)
	}
	return b.hold
}

// fails waits for an acquire to fail in the way given.
func (a arena) fails(b *bid, want error) {
	if !a.within(a.patience()+a.h.TTL, b.over) {
		a.Fatalf("%s: the acquire does not return; want an error that Is %q", b.what, want)
	}
	if !errors.Is(b.err, want) {
		a.Fatalf("%s: the acquire returned %s; want an error that Is %q", b.what, result(b.hold, b.err), want)
	}
	a.namesLine(b.err)
}

// namesLine wants an error to name the line.
func (a arena) namesLine(err error) {
	if !strings.Contains(err.Error(), strconv.Quote(name)) {
		a.Fatalf("the error %q does not name the line %q", err, name)
	}
}

// waits wants acquires not to have returned. What precedes it, typically a look
// at the line, makes it more than a guess.
func (a arena) waits(bids ...*bid) {
	for _, b := range bids {
		if ended(b.over) {
			a.Fatalf("%s: the acquire has returned %s; want it blocked", b.what, result(b.hold, b.err))
		}
	}
}

// stay wants acquires not to return, holds not to end, for as long as something
// may happen late.
func (a arena) stay(holds []subject.Hold, bids ...*bid) {
	a.Throughout(a.lateness(), func() error {
		a.waits(bids...)
		a.holds(holds...)
		return nil
	})
}

// holds wants holds not to have ended.
func (a arena) holds(holds ...subject.Hold) {
	for _, h := range holds {
		if ended(h.Done()) || h.Err() != nil {
			a.Fatalf("the hold with token %d has ended: %s", h.Token(), errorOf(h.Err()))
		}
	}
}

// release ends holds, and must.
func (a arena) release(holds ...subject.Hold) {
	for _, h := range holds {
		if err := h.Release(a.ctx); err != nil {
			a.Fatalf("releasing: %v", err)
		}
	}
}

// ends wants a hold to end for a reason.
func (a arena) ends(h subject.Hold, what string, why error) {
	if !a.within(a.patience()+a.h.TTL, h.Done()) {
		a.Fatalf("%s: the hold's Done does not close", what)
	}
	for _, err := range []error{h.Err(), context.Cause(h.Context())} {
		if !errors.Is(err, coord.ErrNotHeld) || !errors.Is(err, why) {
			a.Fatalf("%s: the hold ended with %s; want ErrNotHeld and %q", what, errorOf(err), why)
		}
	}
}

// entries waits until a third client sees the line to have n entries that
// contend, and returns them.
func (a arena) entries(n int) (found []driver.Node) {
	a.Eventually(a.patience(), func() error {
		if found = a.contending(); len(found) != n {
			return fmt.Errorf("the line has %d entries; want %d", len(found), n)
		}
		return nil
	})
	return found
}

// contending is what the third client sees of the line, without what serves an
// entry or speaks for none: gates, and notices of a limit.
func (a arena) contending() (found []driver.Node) {
	for _, n := range a.Nodes(a.dir()) {
		if !strings.HasPrefix(n.ID, "g") && !strings.HasPrefix(n.ID, "l") {
			found = append(found, n)
		}
	}
	return found
}

// empty waits until nothing at all is left in the line.
func (a arena) empty() { a.bare(a.dir()) }

func (a arena) bare(dir string) {
	a.Eventually(a.patience(), func() error {
		if left := a.Nodes(dir); len(left) > 0 {
			return fmt.Errorf("there are still %d: %s", len(left), show(left[:min(len(left), 5)]...))
		}
		return nil
	})
}
