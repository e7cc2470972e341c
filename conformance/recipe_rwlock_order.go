package conformance

import (
	"context"
	"fmt"
	"math"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

func rwExcludes(t rw, d disturbance) {
	const all = 1 << 10 // the weight of a writer
	t.crowd(all, d, func(c *coord.Client) []guest {
		return []guest{{t.write(c), all}, {t.read(c), 1}, {t.read(c), 1}}
	})
}

// everyLine returns all lines of n readers and writers.
func everyLine(n int) (lines []string) {
	for i := range 1 << n {
		line := make([]byte, n)
		for j := range line {
			line[j] = "rw"[i>>j&1]
		}
		lines = append(lines, string(line))
	}
	return lines
}

// lines lets those of each line come one after the other, behind a writer, and
// unlocks whoever holds, the first in line first. After each unlock just those
// hold who should.
func (t rw) lines(lines ...string) {
	clients := []*coord.Client{t.Client(), t.Client(), t.Client()}
	for _, line := range lines {
		first := t.take(t.write(clients[0]))
		var bids []*bid
		for i, kind := range line {
			want := t.write(clients[(i/2)%3])
			if kind == 'r' {
				want = t.read(clients[(i/2)%3])
			}
			bids = append(bids, t.join(t.ctx, fmt.Sprintf("place %d of %s", i, line), want, i+2))
		}
		nodes := t.entries(len(line) + 1)
		t.waits(bids...)
		t.release(first)
		for i, b := range bids {
			var in []subject.Hold
			j := i
			for ; j < len(line) && comesIn(line[i:], j-i); j++ {
				h := t.wins(bids[j])
				if h.Token() != nodes[j+1].Token {
					t.Fatalf("%s has token %d; its entry has %d", bids[j].what, h.Token(), nodes[j+1].Token)
				}
				in = append(in, h)
			}
			t.entries(len(line) - i)
			t.pause()
			t.waits(bids[j:]...)
			t.holds(in...)
			t.release(b.hold)
		}
		t.empty()
	}
}

// comesIn reports whether the i-th of a line may hold.
func comesIn(line string, i int) bool {
	for _, ahead := range line[:i] {
		if line[i] == 'w' || ahead == 'w' {
			return false
		}
	}
	return true
}

func rwTokens(t rw, between func()) {
	a, b := t.Client(), t.Client()
	last := uint64(0)
	for i := range 6 {
		want := []subject.Want{t.write(a), t.read(b), t.write(b), t.read(a)}[i%4]
		h := t.take(want)
		if h.Token() <= last {
			t.Fatalf("grant %d has token %d after %d", i, h.Token(), last)
		}
		last = h.Token()
		t.release(h)
		between()
	}
	w := t.take(t.write(a))
	r1 := t.join(t.ctx, "a reader", t.read(a), 2)
	r2 := t.join(t.ctx, "another reader", t.read(b), 3)
	w2 := t.join(t.ctx, "a writer", t.write(a), 4)
	t.release(w)
	h1, h2 := t.wins(r1), t.wins(r2)
	t.release(h1, h2)
	h := t.wins(w2)
	if !(last < w.Token() && w.Token() < h1.Token() && w.Token() < h2.Token() && max(h1.Token(), h2.Token()) < h.Token()) {
		t.Fatalf("after token %d a writer has %d, the readers behind it %d and %d, and the writer behind those %d",
			last, w.Token(), h1.Token(), h2.Token(), h.Token())
	}
	t.release(h)
	t.empty()
}

func rwNames(t rw) {
	c := t.Client()
	for _, n := range []string{"a", "a/b", "a%2Fb", "a/", "a-", "a0", "A", ".", "..", "å", "\x00", "rwlock:a"} {
		t.tries(t.open(c, n).Write, fmt.Sprintf("TryLock of %q, with others held", n))
	}
	t.tries(subject.Mutex(c, "a"), "TryLock of the mutex of that name")
	t.tries(subject.Semaphore(c, "a", math.MaxInt32).Want(1), "TryAcquire of the semaphore of that name")
}

func rwWriterGivesUp(t rw) {
	a, b := t.Client(), t.Client()
	held := t.take(t.read(a))
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	w := t.join(ctx, "the writer that gives up", t.write(b), 2)
	r1 := t.join(t.ctx, "a reader behind it", t.read(a), 3)
	r2 := t.join(t.ctx, "a reader behind it", t.read(b), 4)
	last := t.join(t.ctx, "a writer behind those", t.write(a), 5)
	cancel()
	t.fails(w, context.Canceled)
	h1, h2 := t.wins(r1), t.wins(r2)
	t.stay([]subject.Hold{held, h1, h2}, last)
	t.release(held, h1, h2)
	t.release(t.wins(last))
	t.empty()
}

// rwWakes counts what the store tells each: a reader one deletion, and nobody
// else anything.
func rwWakes(t rw) {
	const crowd = 10
	var first, other wakes
	held := t.take(t.write(t.Client()))
	var readers, others []*bid
	for i := range crowd {
		readers = append(readers, t.join(t.ctx, "a reader behind the writer", t.read(t.counted(&first)), i+2))
	}
	for i := range 3 {
		others = append(others,
			t.join(t.ctx, "a writer behind the readers", t.write(t.counted(&other)), crowd+2+2*i),
			t.join(t.ctx, "a reader behind that writer", t.read(t.counted(&other)), crowd+3+2*i))
	}
	t.release(held)
	var in []subject.Hold
	for _, r := range readers {
		in = append(in, t.wins(r))
	}
	t.stay(in, others...)
	woken := func(what string, n *wakes, want int) {
		if got, watches, _ := n.next(); got != want || watches != 0 {
			t.Fatalf("%s: the store told of %d deletions, and %d watches were begun; want %d and none", what, got, watches, want)
		}
	}
	woken("a writer's unlocking, for the readers behind it", &first, crowd)
	woken("a writer's unlocking, for everybody else", &other, 0)
	t.release(in[:crowd-1]...)
	t.stay(in[crowd-1:], others...)
	woken("the unlocking of all readers but the last", &other, 0)
	t.release(in[crowd-1])
	h := t.wins(others[0])
	t.stay([]subject.Hold{h}, others[1:]...)
	woken("the last reader's unlocking", &other, 1)
	t.release(h)
	t.release(t.wins(others[1]))
}
