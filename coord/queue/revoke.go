package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// A request to leave is an entry in a directory beside the line, so that it disturbs no
// waiter. It ends with the session of the caller of Revoke.

// ask is the value of a request.
type ask struct {
	Token  uint64 `json:"token"` // of the entry that is to leave
	Reason string `json:"reason,omitempty"`
}

const maxReason = 1 << 10

// Revoke asks the entry that holds, or waits, with the token to leave, and waits until it
// has. It returns nil when the entry is gone, also if it was before. Nothing is done to
// the entry itself. The reason has up to 1024 bytes.
//
// When ctx ends first, or the caller's session does, the request is withdrawn. If the
// store is out of reach, Revoke gives up after the client's TTL; once the request is in
// the store it waits for as long as the session lives.
func (q *Queue) Revoke(ctx context.Context, token uint64, reason string) (err error) {
	defer q.named("revoke", &err)
	if len(reason) > maxReason {
		return fmt.Errorf("%w reason: it has %d bytes; want at most %d", coord.ErrInvalid, len(reason), maxReason)
	}
	target, err := q.byToken(ctx, token)
	if err != nil || target.Key == "" {
		return err
	}
	value, err := json.Marshal(ask{token, reason})
	if err != nil { // a number and a string
		panic(err)
	}
	e, _, err := q.join(ctx, q.asks, Request{Value: value}, noLine)
	if err != nil {
		return err
	}
	defer e.discard()
	return e.awaitNone(ctx, target, token)
}

// awaitNone waits until no entry in the line has the token. target has it now.
func (e *Entry) awaitNone(ctx context.Context, target driver.Node, token uint64) error {
	e.guardOwn() // a request that is gone cannot be heard
	within, cancel := e.within(ctx)
	defer cancel()
	for {
		if err := e.session.Driver().WaitDelete(within, target); err != nil {
			if err = e.broken(ctx, err); err != nil {
				return err
			}
		}
		// After a downgrade another entry has the token. Or the wait broke.
		was := target
		err := e.session.Retry(within, func(ctx context.Context) (err error) {
			target, err = e.queue.byToken(ctx, token)
			return err
		})
		switch {
		case err != nil:
			return cmp.Or(e.whyEnded(ctx), err)
		case target.Key == "":
			return nil
		case target.Same(was):
			if err := e.pause(ctx); err != nil {
				return err
			}
		}
	}
}

// byToken finds the entry whose holds have the token, or the zero Node.
func (q *Queue) byToken(ctx context.Context, token uint64) (found driver.Node, _ error) {
	line, err := q.list(ctx)
	if err != nil {
		return found, err
	}
	for i, n := range line {
		if parse(n).token(n) == token && !q.rule(line, i).Aside {
			found = n // during a downgrade there are two: the later one stays
		}
	}
	return found, nil
}

// Revoked waits for a request that the entry leave, and returns it. It watches the
// requests while it waits, and costs the store nothing otherwise. ctx bounds it. If h, a
// hold of the entry, ends first, the error Is coord.ErrNotHeld.
func (e *Entry) Revoked(ctx context.Context, h *coord.Hold) (none coord.Revocation, err error) {
	defer e.queue.named("wait for a revocation", &err)
	work, cancel := h.Within(ctx)
	defer cancel()
	for requests, err := range e.queue.client.Watch(work, e.queue.asks) {
		if over := cmp.Or(h.Err(), driver.ContextError(ctx)); over != nil {
			return none, over
		}
		if err != nil {
			return none, err
		}
		for _, n := range requests {
			var a ask
			if json.Unmarshal(Value(n), &a) == nil && a.Token == e.token {
				by := parse(n)
				return coord.Revocation{By: by.Owner, Since: by.Since, Reason: a.Reason}, nil
			}
		}
	}
	return none, errWatchEnded
}
