package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// ask is the value of a request to leave: an entry in a directory beside the line.
type ask struct {
	Token  uint64 `json:"token"` // of the entry that is to leave
	Reason string `json:"reason,omitempty"`
}

const maxReason = 1 << 10

// Revoke asks the entry with the token to leave, and waits until it has. It returns nil when
// the entry is gone, also if it was before. The reason has up to 1024 bytes.
//
// When ctx or the caller's session ends first, the request is withdrawn. If the store is out
// of reach, Revoke gives up after the client's TTL; once the request is in the store it
// waits while the session lives.
func (q *Queue) Revoke(ctx context.Context, token uint64, reason string) (err error) {
	defer q.named("revoke", &err)
	if len(reason) > maxReason {
		return fmt.Errorf("%w reason: it has %d bytes; want at most %d", coord.ErrInvalid, len(reason), maxReason)
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
	e.guardOwn() // a request that is gone cannot be heard
	within, cancel := e.within(ctx)
	defer cancel()
	for line, err := range q.client.Watch(within, q.dir) {
		if err != nil {
			return cmp.Or(e.whyEnded(ctx), err)
		}
		if !slices.ContainsFunc(line, func(n driver.Node) bool { return parse(n).token(n) == token }) {
			return nil
		}
	}
	return errWatchEnded
}

// Revoked waits, watching, for a request that the entry leave, and returns it. ctx bounds it.
// If h, a hold of the entry, ends first, the error Is coord.ErrNotHeld.
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
