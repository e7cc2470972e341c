package conformance

import (
	"context"
	"fmt"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

func semInOrder(t sem) {
	a, b, c := t.Client(), t.Client(), t.Client()
	held := t.take(t.want(a, 4, 4))
	weights := []int{1, 3, 1, 4, 1, 1, 2, 1, 4, 2}
	var line []*bid
	for i, n := range weights {
		who := []*coord.Client{a, a, b, c, c, b, a, b, b, c}[i]
		line = append(line, t.join(t.ctx, fmt.Sprintf("place %d, for %d", i, n), t.want(who, n, 4), i+2))
	}
	nodes := t.entries(len(line) + 1)
	t.waits(line...)
	t.release(held)
	// The first in line is released, and so on; after each just those hold who
	// fit with all ahead of them.
	for i := range line {
		sum, j := 0, i
		var in []subject.Hold
		for ; j < len(line) && sum+weights[j] <= 4; j++ {
			sum += weights[j]
			h := t.wins(line[j])
			if h.Token() != nodes[j+1].Token {
				t.Fatalf("%s has token %d; its entry has %d", line[j].what, h.Token(), nodes[j+1].Token)
			}
			in = append(in, h)
		}
		t.entries(len(line) - i)
		t.pause()
		t.waits(line[j:]...)
		t.holds(in...)
		t.release(line[i].hold)
	}
	t.empty()
}

func semLargeGivesUp(t sem) {
	a, b := t.Client(), t.Client()
	held := t.take(t.want(a, 2, 4))
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	large := t.join(ctx, "the large one", t.want(b, 3, 4), 2)
	small := t.join(t.ctx, "a small one behind it", t.want(a, 1, 4), 3)
	another := t.join(t.ctx, "a small one of another process", t.want(t.Client(), 1, 4), 4)
	t.stay([]subject.Hold{held}, large, small, another)
	cancel()
	t.fails(large, context.Canceled)
	t.release(t.wins(small), t.wins(another), held)
	t.empty()
}

func semTokens(t sem, between func()) {
	a, b := t.Client(), t.Client()
	last := uint64(0)
	for i := range 6 {
		h := t.take(t.want([]*coord.Client{a, b}[i%2], 1+i%2, 2))
		if h.Token() <= last {
			t.Fatalf("grant %d has token %d after %d", i, h.Token(), last)
		}
		last = h.Token()
		t.release(h)
		between()
	}
}

func semTry(t sem) {
	a, b := t.Client(), t.Client()
	h := t.tries(t.want(a, 2, 3), "TryAcquire of free permits")
	if h, ok := h.(interface{ Permits() int }); ok && h.Permits() != 2 {
		t.Fatalf("a hold of 2 permits says that it is of %d", h.Permits())
	}
	for range 3 {
		t.busy(t.want(b, 2, 3), "TryAcquire of more than are free")
	}
	t.entries(1)
	h1 := t.tries(t.want(b, 1, 3), "TryAcquire of what is free")
	t.busy(t.want(a, 1, 3), "TryAcquire when none is free")
	t.entries(2)
	t.release(h, h1)
	t.release(t.take(t.want(t.Client(), 3, 3))) // a third party
	t.empty()
}

func semTryBehindWaiter(t sem) {
	a, b := t.Client(), t.Client()
	h := t.take(t.want(a, 2, 3))
	waiter := t.join(t.ctx, "who waits for two", t.want(b, 2, 3), 2)
	for range 3 {
		t.busy(t.want(a, 1, 3), "TryAcquire of the one that is free, while somebody waits for two")
	}
	t.entries(2)
	t.release(h)
	t.release(t.wins(waiter))
	t.empty()
}

// semTwoWantAll: who got half of them would wait for the other half for ever.
func semTwoWantAll(t sem) {
	var over []<-chan struct{}
	for range 2 {
		w := t.want(t.Client(), 2, 2)
		over = append(over, t.Go(func() {
			for range 10 {
				t.release(t.take(w))
			}
		}))
	}
	for _, one := range over {
		if !t.within(t.h.Timeout/2, one) {
			t.Fatalf("two who want all of two permits wait for each other")
		}
	}
	t.empty()
}

func semWaiterHasNone(t sem) {
	a, b := t.Client(), t.Client()
	h := t.take(t.want(a, 1, 3))
	waiter := t.join(t.ctx, "who waits for all three", t.want(b, 3, 3), 2)
	t.stay([]subject.Hold{h}, waiter)
	t.inUse(t.open(a, name, 3), 3, 1)
	t.release(h)
	h = t.wins(waiter)
	t.inUse(t.open(a, name, 3), 3, 3)
	t.release(h)
	t.empty()
	t.inUse(t.open(a, name, 3), 3, 0)
}

// inUse waits for Limit to say what is so.
func (t sem) inUse(s subject.Counting, limit, used int) {
	t.Eventually(t.patience(), func() error {
		l, u, err := s.Limit(t.ctx)
		if err != nil || l != limit || u != used {
			return fmt.Errorf("by Limit %d of %d are in use, %s; want %d of %d", u, l, errorOf(err), used, limit)
		}
		return nil
	})
}

func semNotReentrant(t sem) {
	c := t.Client()
	h := t.take(t.want(c, 1, 3))
	inner := t.bid(h.Context(), "an acquire under a hold's context", t.want(c, 1, 3))
	h1 := t.wins(inner)
	if h1.Token() == h.Token() {
		t.Fatalf("an acquire within a hold has the same token, %d; want permits of its own", h.Token())
	}
	t.entries(2)
	t.inUse(t.open(c, name, 3), 3, 2)
	t.release(h)
	t.holds(h1)
	t.release(h1)
	t.empty()
}
