package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// mutexRules are the promises of the mutex to those who use it.
func mutexRules() []Rule {
	return []Rule{
		{
			ID:   "M1",
			Text: "At most one holds a lock, and all who wait are served.",
			Cases: []Case{
				{Name: "many clients and goroutines", Check: func(t *Trial) { excludes(t, t.undisturbed()) }},
				{Name: "connections reset", Needs: NeedLink, Check: func(t *Trial) { excludes(t, t.resets()) }},
				{Name: "replies lost", Needs: NeedLink, Check: func(t *Trial) { excludes(t, t.losses()) }},
			},
		},
		{
			ID:    "M2",
			Text:  "First come, first served.",
			Cases: []Case{{Name: "of one process and of several", Check: inOrder}},
		},
		{
			ID:   "M3",
			Text: "Tokens rise strictly from grant to grant.",
			Cases: []Case{
				{Name: "over an empty line", Check: func(t *Trial) { tokensRise(t, func() {}) }},
				{Name: "over a removed directory", Needs: NeedRemoveDir, Check: func(t *Trial) {
					tokensRise(t, func() { t.removeDir("mutex:" + name) })
				}},
			},
		},
		{
			ID:   "M4",
			Text: "TryLock does not wait, and leaves no entry when it fails.",
			Cases: append(contests{{kind: "mutex", first: subject.Mutex, second: subject.Mutex}}.trying(),
				Case{Name: "held", Check: tryLockLeavesNothing},
				Case{Name: "a storm", Check: tryLockStorm},
			),
		},
		{
			ID:    "M5",
			Text:  "A release lets the next in line have the lock, and nobody else.",
			Cases: []Case{{Name: "ten in line", Check: oneAtATime}},
		},
		{
			ID:    "M6",
			Text:  "Holders and waiters are listed with who they are.",
			Cases: []Case{{Name: "from a third client", Check: contendersShow}},
		},
		{
			ID:    "M7",
			Text:  "Two different names never share or touch each other's line.",
			Cases: []Case{{Name: "names that look like parts of others", Check: namesAreApart}},
		},
	}
}

func excludes(t *Trial, d disturbance) {
	arena{t, "mutex"}.crowd(1, d, func(c *coord.Client) []guest {
		lock := guest{subject.Mutex(c, name), 1}
		return []guest{lock, lock, lock}
	})
}

func inOrder(t *Trial) {
	a, b, c := t.Client(), t.Client(), t.Client()
	held := t.lock(a)
	var line []*attempt
	for i, client := range []*coord.Client{a, a, b, c, c, b, a, b, b, c} {
		line = append(line, t.locking(t.ctx, client, i+2))
	}
	nodes := t.line(len(line) + 1)
	t.unlock(held)
	for i, waiter := range line {
		held := t.granted(waiter, fmt.Sprintf("the waiter at place %d", i))
		if held.Token() != nodes[i+1].Token {
			t.Fatalf("the waiter at place %d was granted with token %d; its entry has %d", i, held.Token(), nodes[i+1].Token)
		}
		for j := i + 1; j < len(line); j++ {
			t.stillWaits(line[j], fmt.Sprintf("the waiter at place %d while %d holds", j, i))
		}
		t.unlock(held)
	}
}

func tokensRise(t *Trial, between func()) {
	a, b := t.Client(), t.Client()
	var last uint64
	for i := range 6 {
		held := t.lock([]*coord.Client{a, b}[i%2])
		if held.Token() <= last {
			t.Fatalf("grant %d has token %d after %d", i, held.Token(), last)
		}
		last = held.Token()
		t.unlock(held)
		between()
	}
}

func tryLockLeavesNothing(t *Trial) {
	a, b := t.Client(), t.Client()
	held, err := mutex.New(a, name).TryLock(t.ctx)
	if err != nil {
		t.Fatalf("TryLock of a free lock: %v", err)
	}
	for range 5 {
		if _, err := mutex.New(b, name).TryLock(t.ctx); !errors.Is(err, coord.ErrBusy) {
			t.Fatalf("TryLock of a held lock returned %s; want ErrBusy", errorOf(err))
		}
	}
	t.line(1)
	t.unlock(held)
	t.unlock(t.lock(b))
	t.line(0)
}

// tryLockStorm lets many try at once while somebody waits in earnest.
func tryLockStorm(t *Trial) {
	a, b := t.Client(), t.Client()
	held := t.lock(a)
	waiter := t.locking(t.ctx, b, 2)
	var all []<-chan struct{}
	for range 4 {
		c := t.Client()
		all = append(all, t.Go(func() {
			for range 10 {
				h, err := mutex.New(c, name).TryLock(t.ctx)
				if err == nil {
					t.unlock(h)
				} else if !errors.Is(err, coord.ErrBusy) {
					t.Fatalf("TryLock: %v", err)
				}
			}
		}))
	}
	t.unlock(held)
	t.unlock(t.granted(waiter, "who waits in earnest among those who try"))
	for _, one := range all {
		if !t.within(t.patience(), one) {
			t.Fatalf("TryLock does not return")
		}
	}
	t.line(0)
}

func oneAtATime(t *Trial) {
	held := t.lock(t.Client())
	var line []*attempt
	for i := range 10 {
		line = append(line, t.locking(t.ctx, t.Client(), i+2))
	}
	t.unlock(held)
	t.granted(line[0], "the next in line")
	t.line(10)
	for i, waiter := range line[1:] {
		t.stillWaits(waiter, fmt.Sprintf("the waiter at place %d", i+1))
	}
}

func contendersShow(t *Trial) {
	conn := t.Open()
	named, err := coord.New(conn, coord.Config{
		SessionTTL: coord.Duration(t.h.TTL),
		Owner:      coord.Owner{Name: "conformance", Labels: map[string]string{"part": "holder"}},
	})
	if err != nil {
		t.Fatalf("making a client: %v", err)
	}
	t.Cleanup(func() { _ = named.Close(context.Background()) })
	named.Owner().Labels["part"] = "what a caller writes into what it was given"
	held := t.lock(named)
	t.locking(t.ctx, t.Client(), 2)
	c, err := mutex.New(t.Client(), name).Contenders(t.ctx)
	if err != nil || len(c.Holders) != 1 || len(c.Waiters) != 1 {
		t.Fatalf("Contenders: %+v, %s; want a holder and a waiter", c, errorOf(err))
	}
	h, w := c.Holders[0], c.Waiters[0]
	switch {
	case h.Owner.Name != "conformance" || h.Owner.Labels["part"] != "holder" || h.Owner.PID == 0:
		t.Fatalf("the holder shows itself as %+v", h.Owner)
	case h.Token != held.Token() || h.Session != held.Session().ID() || h.Since.IsZero() || h.Key == "":
		t.Fatalf("the holder is listed as %+v; it has token %d and session %s", h, held.Token(), held.Session().ID())
	case w.Owner.Name != "" || w.Owner.PID == 0 || w.Token <= h.Token:
		t.Fatalf("the waiter is listed as %+v", w)
	}
}

func namesAreApart(t *Trial) {
	c := t.Client()
	for _, n := range []string{"a", "a/b", "a%2Fb", "a/", "a-", "a0", "A", ".", "..", "å", "\x00", "mutex:a"} {
		if _, err := mutex.New(c, n).TryLock(t.ctx); err != nil {
			t.Fatalf("the lock %q, with others held: %v", n, err)
		}
	}
}
