package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/report"
	"github.com/coordkit/coordkit/internal/testserver"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

// What the turns of a semaphore take where lists are names: however many hold
// permits, nobody reads what they say, but for the one who is next to be served
// and so watches the line.
func TestSemaphoreRoundTripsOnZooKeeper(t *testing.T) {
	s := startZooKeeper(t, testserver.ZooKeeperOptions{MaxSessionTimeout: lasting})
	// What nobody waits for is the watch of the own entry.
	acquire := requests{"transaction": 1, "read": 1, "watch": 1}
	release := requests{"removal": 1}
	behind := requests{"transaction": 2, "read": 2, "watch": 2}   // the entry, and its gate; the watches of its own and of the gate ahead
	handoff := requests{"read": 1, "removal": 1}                  // the look, and the gate; its own entry is watched already
	const many = 20                                               // hold a permit each
	open := func() program { return tapped(t, s, hearZooKeeper) } // a program of its own
	of := func(c *coord.Client) *semaphore.Semaphore { return semaphore.New(c, "s", many+2) }

	var waiting sync.WaitGroup
	defer waiting.Wait() // after cancel: nobody is to fail a test that is over
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	take := func(c *coord.Client, n int) *semaphore.Held {
		t.Helper()
		held, err := of(c).Acquire(ctx, n)
		must(t, "Acquire", err)
		return held
	}
	give := func(h *semaphore.Held) {
		t.Helper()
		must(t, "Release", h.Release(ctx))
	}
	looks := s.dial(t, patient, hosts(s.Endpoints()...)...)
	for range many {
		take(looks, 1)
	}
	a, b, c := open(), open(), open()
	for _, p := range []*program{&a, &b, &c} {
		_, err := p.Session(ctx)
		must(t, "opening a session", err)
		p.seen = p.soFar()
		held := take(p.Client, 1)
		p.want(t, "the first acquire", acquire)
		give(held)
		p.want(t, "the first release", release)
	}

	dir, err := coord.Dir("semaphore", "s")
	must(t, "Dir", err)
	waits := func(p *program, gates int) <-chan *semaphore.Held { // and so have put up their gates
		t.Helper()
		granted := make(chan *semaphore.Held, 1)
		waiting.Go(func() {
			held, err := of(p.Client).Acquire(ctx, 1)
			if err != nil {
				t.Error(err)
			}
			granted <- held
		})
		for line, err := range looks.Watch(ctx, dir) {
			must(t, "watching the line", err)
			there := 0
			for _, n := range line {
				if strings.HasPrefix(n.ID, "g") {
					there++
				}
			}
			if there == gates {
				break
			}
		}
		return granted
	}
	held := take(a.Client, 2)
	a.want(t, "acquire, free", acquire)
	next := waits(&b, 1)
	last := waits(&c, 2)
	c.want(t, "joining behind who waits", behind)
	give(held)
	a.want(t, "release", release)
	h1, h2 := <-next, <-last
	if h1 == nil || h2 == nil {
		t.FailNow() // which is told already
	}
	c.want(t, "the grant of who was behind", handoff)
	give(h2)
	c.want(t, "release", release)
	give(h1)
	report.Show(t, s.scheme+": requests of a semaphore", fmt.Sprintf("acquire %v, release %v, joining behind who waits %v, handoff %v",
		acquire, release, behind, handoff))
}
