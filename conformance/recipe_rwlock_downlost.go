package conformance

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

func rwDowngradedCutOff(t rw) {
	c, l := t.ClientOverLink()
	down := t.downgrade(c, t.take(t.write(c)))
	next := t.join(t.ctx, "the writer behind", t.write(t.Client()), 2)
	l.Cut()
	told := false
	grant := t.Go(func() {
		<-next.over
		told = ended(down.Done())
	})
	if !t.Trial.within(t.h.Expiry+t.patience(), grant) {
		t.Fatalf("what the one who was cut off has does not go to the next in line")
	}
	h := t.wins(next)
	if !told && down.Err() == nil {
		t.Fatalf("the next in line got it, and who was downgraded and cut off had not been told")
	}
	t.heal(l)
	t.release(h)
}

// rwDowngradeRemoved: the writer's entry is removed before the reader's is made, and the next
// writer comes in: there is nothing to downgrade any more.
func rwDowngradeRemoved(t rw) {
	var downgrades atomic.Bool
	var next *bid
	c := t.tapped(func(ctx context.Context, c *request, call func(context.Context) error) error {
		if strings.HasPrefix(c.op, "Create") && downgrades.CompareAndSwap(true, false) {
			t.removeNode(t.entries(2)[0])
			t.wins(next)
		}
		return call(ctx)
	})
	w := t.take(t.write(c))
	next = t.join(t.ctx, "the writer right behind", t.write(t.Client()), 2)
	downgrades.Store(true)
	down, err := t.open(c, name).Downgrade(t.ctx, w)
	if !errors.Is(err, coord.ErrNotHeld) {
		t.Fatalf("Downgrade of what was removed meanwhile, and is another's by now, returned %s; want ErrNotHeld", result(down, err))
	}
	t.ends(w, "the writer whose entry was removed", coord.ErrRemoved)
	t.stay([]subject.Hold{next.hold})
	t.entries(1)
	t.release(next.hold)
	t.empty()
}

// rwDowngradeEntered: who enters the writer's entry before the reader's is made relies on
// being alone.
func rwDowngradeEntered(t rw) {
	var downgrades atomic.Bool
	var l subject.ReadWrite
	var w, inner subject.Hold
	c := t.tapped(func(ctx context.Context, c *request, call func(context.Context) error) error {
		if strings.HasPrefix(c.op, "Create") && downgrades.CompareAndSwap(true, false) {
			inner = t.enters(l.Write, w, "Lock in Lock, while it is downgraded")
		}
		return call(ctx)
	})
	l = t.open(c, name)
	w = t.take(l.Write)
	next := t.join(t.ctx, "the reader right behind", t.read(t.Client()), 2)
	downgrades.Store(true)
	down, err := l.Downgrade(t.ctx, w)
	if !errors.Is(err, coord.ErrInvalid) {
		t.Fatalf("Downgrade of what was entered meanwhile returned %s; want ErrInvalid", result(down, err))
	}
	t.entries(2)
	t.stay([]subject.Hold{w, inner}, next)
	t.release(inner)
	down = t.downgrade(c, w)
	t.release(t.wins(next), down)
	t.empty()
}
