package conformance

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/coord"
)

// traffic is what a client has under way, and what it has asked for.
type traffic struct {
	mu     sync.Mutex
	waits  map[string]int // calls under way that wait for the deletion of a node, by its key
	counts atomic.Bool    // looks are counted
	looks  atomic.Int64   // at the line
}

// watchedTraffic opens a client whose traffic is watched. The reply to the first create is kept
// back until hold is closed.
func (t *Trial) watchedTraffic(hold <-chan struct{}) (*coord.Client, *traffic) {
	f := &traffic{waits: make(map[string]int)}
	var made atomic.Bool
	return t.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		switch {
		case strings.HasPrefix(c.op, "Wait"):
			f.add(c, 1)
			defer f.add(c, -1)
		case strings.HasPrefix(c.op, "Create"):
			if made.CompareAndSwap(false, true) {
				defer func() {
					select { // whichever comes first
					case <-hold:
					case <-ctx.Done():
					}
				}()
			}
		case f.counts.Load() && (strings.Contains(c.op, "List") || c.op == "Watch"):
			f.looks.Add(1)
		}
		return next(ctx)
	}), f
}

func (f *traffic) add(c *request, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, node := range c.nodes {
		f.waits[node.Key] += n
	}
}

func (f *traffic) waitsFor(key string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waits[key]
}

// contestHandoff: within a process the next in line needs no request to learn that it holds,
// also if it looked at the line before the holder knew that it was in it.
func contestHandoff(d duel) {
	for _, early := range []bool{false, true} {
		hold := make(chan struct{})
		if !early {
			close(hold)
		}
		c, f := d.watchedTraffic(hold)
		first := d.join(d.ctx, "the holder", d.one(c), 1)
		if !early {
			d.wins(first)
		}
		next := d.join(d.ctx, "the next in line, of the same process", d.other(c), 2)
		key := d.entries(2)[0].Key
		if early {
			d.pause()
			close(hold)
		}
		held := d.wins(first)
		d.Eventually(d.patience(), func() error {
			if n := f.waitsFor(key); n > 1 { // the holder may look whether it is there
				return fmt.Errorf("a process has %d calls that wait for one of its own entries", n)
			}
			return nil
		})
		d.Throughout(max(d.lateness(), 300*time.Millisecond), func() error {
			if n := f.waitsFor(key); n > 1 {
				return fmt.Errorf("a process has %d calls that wait for one of its own entries", n)
			}
			return nil
		})
		f.counts.Store(true)
		d.release(held)
		h := d.wins(next)
		if n := f.looks.Load(); n > 0 {
			d.Fatalf("who waits for another of its own process looks at the line %d times before it holds", n)
		}
		d.release(h)
		d.empty()
	}
}
