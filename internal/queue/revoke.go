package queue

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// askSuffix sets the directory of those who ask an entry to leave apart from
// the line. It is a directory of its own so that asking disturbs nobody in it.
const askSuffix = "-revoke"

// asked is the value of an entry that asks another one to leave.
type asked struct {
	Token  uint64 `json:"token"` // of the other one
	Reason string `json:"reason,omitempty"`
}

// maxReason keeps a reason well below what an entry carries.
const maxReason = 1 << 10

// Revoke asks the entry that holds, or waits, with the given token to leave, and
// waits until it has: nil means that it is gone, also if it was before. Nothing
// is done to the entry itself. When ctx ends first, or the caller's session is
// lost, the request is withdrawn. Who cannot ask because the store is out of reach
// gives up after the client's TTL; who has asked waits on, for as long as the session
// lives.
func (q *Queue) Revoke(ctx context.Context, token uint64, reason string) error {
	if err := q.revoke(ctx, token, reason); err != nil {
		return q.fail("revoke", err)
	}
	return nil
}

func (q *Queue) revoke(ctx context.Context, token uint64, reason string) error {
	if len(reason) > maxReason {
		return fmt.Errorf("%w reason: it has %d bytes; want at most %d", coord.ErrInvalid, len(reason), maxReason)
	}
	target, err := q.byToken(ctx, token)
	if err != nil || target.Key == "" {
		return err
	}
	value, err := json.Marshal(asked{token, reason})
	if err != nil { // a number and a string
		panic(err)
	}
	s, err := q.sessionFor(ctx)
	if err != nil {
		return err
	}
	e, _, err := q.enter(ctx, s, q.asks, Request{Value: value}, unseen)
	if err != nil {
		return err
	}
	defer e.discard()
	return e.outlast(ctx, target, token)
}

// outlast waits, as who waits in the line does, until there is no entry whose holds
// have the token. target is the one that there was.
func (e *Entry) outlast(ctx context.Context, target driver.Node, token uint64) error {
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(e.session.Context(), cancel) // for looks, which need no session
	defer stop()
	e.guardAmong(&e.roster.waiting) // a request that is gone is one that nobody hears
	e.wakeWith(cancel)
	defer e.wakeWith(nil)
	for {
		err := e.session.Driver().WaitDelete(wait, target)
		if _, err = e.outlived(ctx, Verdict{}, err); err != nil {
			return err
		}
		// It is gone, and a downgrade has left another in its place, or not; or else
		// the wait has broken.
		was := target
		err = e.session.Retry(wait, func(ctx context.Context) (err error) {
			target, err = e.queue.byToken(ctx, token)
			return err
		})
		if err != nil {
			return e.unfollowed(ctx, err)
		}
		if target.Key == "" {
			return nil
		}
		if target.Same(was) { // the wait has broken, or a listing that is behind still shows it
			if err := e.pause(ctx); err != nil {
				return err
			}
		}
	}
}

// byToken finds the entry whose holds have the given token, or the zero Node.
func (q *Queue) byToken(ctx context.Context, token uint64) (found driver.Node, _ error) {
	nodes, err := q.list(ctx)
	if err != nil {
		return found, err
	}
	for i, n := range nodes {
		if tokenOf(n) == token && !q.rule(nodes, i).Aside {
			found = n // while one entry is traded for another both are there
		}
	}
	return found, nil
}

// Revoked waits until somebody asks the entry that h is a hold of to leave, and
// returns who. It costs the store nothing before it is called. ctx bounds it; if
// h ends first the error says so.
func (e *Entry) Revoked(ctx context.Context, h *coord.Hold) (coord.Revocation, error) {
	work, cancel := h.Within(ctx)
	defer cancel()
	for requests, err := range e.queue.client.Watch(work, e.queue.asks) {
		if over := h.Err(); over != nil {
			return coord.Revocation{}, e.queue.fail("wait for a revocation", over)
		}
		if ctx.Err() != nil {
			return coord.Revocation{}, e.queue.fail("wait for a revocation", driver.ContextError(ctx))
		}
		if err != nil {
			return coord.Revocation{}, e.queue.fail("wait for a revocation", err)
		}
		for _, n := range requests {
			var a asked
			if json.Unmarshal(Value(n), &a) == nil && a.Token == e.token {
				asker := parse(n)
				return coord.Revocation{By: asker.Owner, Since: asker.Since, Reason: a.Reason}, nil
			}
		}
	}
	return coord.Revocation{}, e.queue.fail("wait for a revocation", errWatchEnded)
}
