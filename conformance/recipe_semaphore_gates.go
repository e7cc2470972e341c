package conformance

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/coordkit/coordkit/conformance/internal/subject"
)

// semGatesLate has two stand in line before either can say that it waits. Who comes behind them
// is woken when the second is the first to be served, and not before.
func semGatesLate(t sem, ofOne bool) {
	const limit = 3
	var creates, held atomic.Int64
	may := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	tap := func(ctx context.Context, c *request, next func(context.Context) error) error {
		if c.op == "Create" || c.op == "CreateList" {
			if n := creates.Add(1); n == 2 || n == 4 { // one and three are the entries
				held.Add(1)
				select { // if both are ready the call finds its ctx ended
				case <-may[n/2-1]:
				case <-ctx.Done():
				}
			}
		}
		return next(ctx)
	}
	a := t.tapped(tap)
	b := a
	if !ofOne {
		b = t.tapped(tap)
	}
	first := t.take(t.want(t.Client(), limit, limit))
	holdsBack := func(n int64) {
		t.Eventually(t.patience(), func() error {
			if held.Load() != n {
				return errors.New("who has to wait does not say so")
			}
			return nil
		})
	}
	one := t.join(t.ctx, "the first in line", t.want(a, 2, limit), 2)
	holdsBack(1)
	two := t.join(t.ctx, "the second in line", t.want(b, 2, limit), 3)
	holdsBack(2)
	for i := range may {
		close(may[i])
		t.gates(i + 1)
	}
	var n news
	three := t.join(t.ctx, "the third in line", t.want(t.hearing(&n), 2, limit), 4)
	t.gates(3)
	t.stay([]subject.Hold{first}, one, two, three)
	n.deleted.Store(0)
	t.release(first)
	h := t.wins(one)
	t.stay([]subject.Hold{h}, two, three)
	if n.deleted.Load() > 0 {
		t.Fatalf("the third in line is woken when the first is let in")
	}
	t.release(h)
	t.release(t.wins(two))
	t.release(t.wins(three))
	t.empty()
}
