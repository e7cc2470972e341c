package queue

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// Acquire joins the line at its end and waits until the rule lets the entry hold. ctx
// bounds the call and not the entry. If the store is out of reach, Acquire gives up after
// the client's TTL; an entry that is in the line keeps its place while its session lives.
//
// The error Is ctx's error, coord.ErrSessionLost or coord.ErrClosed, coord.ErrRemoved if an
// operator deleted the entry, coord.ErrUnavailable or coord.ErrUncertain, or the rule's
// Refused. After an error no entry is left, or it is cleared up in the background.
func (q *Queue) Acquire(ctx context.Context, req Request) (_ *Entry, err error) {
	defer q.named("acquire", &err)
	req.keeps = true
	e, line, err := q.join(ctx, q.dir, req, forRule)
	if err != nil {
		return nil, err
	}
	if err := e.await(ctx, line, req); err != nil {
		e.discard()
		return nil, err
	}
	return e, nil
}

// TryAcquire joins the line only if the entry can hold at once. Otherwise the error Is
// coord.ErrBusy. It lists the line before it joins, so that a try delays no waiter.
func (q *Queue) TryAcquire(ctx context.Context, req Request) (_ *Entry, err error) {
	defer q.named("try", &err)
	line, err := q.list(ctx)
	if err != nil {
		return nil, err
	}
	h := header{q.client.Owner(), time.Now(), nil}
	newcomer := driver.Node{Dir: q.dir, ID: slotID(req.Kind, req.Terms, 0), Seq: math.MaxUint64, Data: h.encode(req.Value)}
	if err := q.free(append(slices.Clip(line), newcomer), len(line)); err != nil {
		return nil, err
	}
	// A list of names may have a key that only looks like a node, so this one is with data.
	e, line, err := q.join(ctx, q.dir, req, inFull)
	if err != nil {
		return nil, err
	}
	if own := find(line, e.node); own < 0 {
		err = e.whyGone(ctx)
	} else {
		err = q.free(line, own)
	}
	if err != nil { // another entry joined between the list and the creation
		if left := e.Leave(ctx); left != nil {
			err = fmt.Errorf("%w: %w", err, left)
		}
		return nil, err
	}
	e.grant()
	return e, nil
}

// free returns nil if the entry can hold.
func (q *Queue) free(line []driver.Node, own int) error {
	switch v := q.rule(line, own); {
	case v.Refused != nil:
		return v.Refused
	case v.Blocked:
		return coord.ErrBusy
	}
	return nil
}
