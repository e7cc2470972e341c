package conformance

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// Whose entry is gone asks the store why, before it tells anybody. The cases below let
// that question take its time.

// question is the first request to clear up a slot that a client makes, which is kept
// from the driver until it is let go.
type question struct {
	once        sync.Once
	asked, pass chan struct{}
}

func (d duel) questioned() (*coord.Client, *question) {
	q := &question{asked: make(chan struct{}), pass: make(chan struct{})}
	return d.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		if c.op == "Abandon" {
			q.once.Do(func() {
				close(q.asked)
				select { // the question ends with its ctx, or is let go
				case <-q.pass:
				case <-ctx.Done():
				}
			})
		}
		return next(ctx)
	}), q
}

// isAsked waits for the question.
func (d duel) isAsked(q *question) {
	if !d.within(d.h.TTL+d.patience(), q.asked) {
		d.Fatalf("nobody asks why an entry is gone that an operator has removed")
	}
}

// contestReleaseWhileAsked: who lets go of what was lost, and is about to be told, is told.
func contestReleaseWhileAsked(d duel) {
	c, q := d.questioned()
	held := d.take(d.one(c))
	d.removeNode(d.entries(1)[0])
	d.isAsked(q)
	var err error
	released := d.Go(func() { err = held.Release(d.ctx) })
	d.pause()
	close(q.pass)
	d.Trial.join("a release of what an operator has removed", released)
	if !errors.Is(err, coord.ErrNotHeld) || !errors.Is(err, coord.ErrRemoved) {
		d.Fatalf("releasing what an operator has removed returned %s; want ErrNotHeld and ErrRemoved", errorOf(err))
	}
	d.ends(held, "the hold whose entry was removed", coord.ErrRemoved)
	d.release(d.take(d.one(c)))
	d.empty()
}

// contestLateQuestion: the question does not hit what the same client has next.
func contestLateQuestion(d duel) {
	c, q := d.questioned()
	held := d.take(d.one(c))
	d.removeNode(d.entries(1)[0])
	d.isAsked(q)
	ctx, cancel := context.WithCancel(d.ctx)
	cancel()
	released := d.Go(func() { _ = held.Release(ctx) }) // of what it knows there is nothing to say
	if !d.within(100*time.Millisecond, released) {
		d.Fatalf("a release under a ctx that has ended, while the store is asked why the entry is gone, does not return within 100 ms")
	}
	again := d.take(d.one(c))
	next := d.join(d.ctx, "the next in line", d.other(d.Client()), 2)
	close(q.pass)
	d.stay([]subject.Hold{again}, next)
	d.entries(2)
	d.release(again)
	d.release(d.wins(next))
	d.empty()
}

// contestQuestionGivenUp: the answer is not waited for longer than the ctx.
func contestQuestionGivenUp(d duel) {
	c, q := d.questioned()
	held := d.take(d.one(d.Client()))
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	waiter := d.join(ctx, "the waiter whose entry was removed", d.other(c), 2)
	entry := d.entries(2)[1]
	d.removeNode(entry)
	d.Eventually(d.patience()+d.h.TTL, func() error {
		if ended(q.asked) || d.hasAnother(entry) {
			return nil
		}
		return errors.New("nobody asks why an entry is gone that an operator has removed")
	})
	cancel()
	if !d.within(100*time.Millisecond, waiter.over) {
		d.Fatalf("%s: the acquire does not return within 100 ms of its ctx's end", waiter.what)
	}
	if !errors.Is(waiter.err, context.Canceled) && !errors.Is(waiter.err, coord.ErrRemoved) {
		d.Fatalf("%s: the acquire returned %s", waiter.what, result(waiter.hold, waiter.err))
	}
	close(q.pass)
	d.holds(held)
	d.release(held)
	d.release(d.take(d.other(c)))
	d.empty()
}

// contestQuestionUnanswered: a store that never says why an entry is gone keeps nobody from
// being told.
func contestQuestionUnanswered(d duel) {
	c := d.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		if c.op == "Abandon" {
			<-ctx.Done()
		}
		return next(ctx)
	})
	held := d.take(d.one(c))
	next := d.join(d.ctx, "the next in line", d.other(d.Client()), 2)
	d.removeNode(d.entries(2)[0])
	d.ends(held, "the holder whose entry was removed", coord.ErrRemoved)
	d.release(d.wins(next))
	d.empty()
}

// contestQuestionLost: an entry that is gone because its session is over was not removed.
func contestQuestionLost(d duel) {
	c := d.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		if c.op == "Abandon" && c.session.Err() == nil {
			d.expire(c.session)
		}
		return next(ctx)
	})
	held := d.take(d.one(c))
	d.removeNode(d.entries(1)[0])
	d.ends(held, "the holder whose session has ended when the store is asked why its entry is gone", coord.ErrSessionLost)
	d.release(d.take(d.one(c)))
	d.empty()
}
