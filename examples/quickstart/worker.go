package main

import (
	"context"
	"errors"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// worker stands for a process: it has a client, and so a session, of its own.
type worker struct {
	name     string
	rounds   int
	ledger   *ledger
	timeline *timeline
}

// run would be the main function of that process.
func (w *worker) run(ctx context.Context, config coord.Config) (err error) {
	client, link, err := openBreakable(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		// Nothing is to be left in the store, also if an interrupt has ended ctx.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = errors.Join(err, link.Heal(), client.Close(ctx))
	}()
	lock := mutex.New(client, "quickstart")
	for done := 0; done < w.rounds; {
		switch err := w.round(ctx, lock, link); {
		case err == nil:
			done++
		case errors.Is(err, coord.ErrSessionLost), errors.Is(err, coord.ErrRemoved), errors.Is(err, errRefused):
			// A session never comes back. The next round opens a new one.
		default:
			return err
		}
	}
	return nil
}

// round takes the lock, works, writes the result, and gives the lock back.
func (w *worker) round(ctx context.Context, lock *mutex.Mutex, link link) error {
	held, err := lock.Lock(ctx)
	if err != nil {
		w.timeline.say(w.name, "stopped waiting for the lock: %v", err)
		return err
	}
	defer held.Unlock(ctx)

	page, err := w.ledger.read(held.Token())
	if err != nil {
		return err
	}
	if grant, next := w.timeline.granted(w.name, held.Hold); grant == w.rounds {
		// That many grants always leave some work to others, who take over.
		return w.accident(ctx, held, page, link, next)
	}
	select {
	case <-time.After(50 * time.Millisecond): // of work
		// Should the lock be lost at this moment, the ledger will know.
		return w.write(page)
	case <-held.Done():
		w.timeline.stopped(w.name, held.Err())
		return held.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// write changes the page and writes it to the ledger.
func (w *worker) write(page page) error {
	page.Holder = w.name
	page.Count++
	err := w.ledger.write(page)
	switch {
	case err == nil:
		w.timeline.say(w.name, "wrote count %d", page.Count)
	case errors.Is(err, errRefused):
		w.timeline.say(w.name, "late write with token %d %v", page.Token, err)
	}
	return err
}
