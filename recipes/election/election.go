package election

import (
	"context"
	"fmt"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/queue"
)

// Election is an election by name, shared by all clients that use the same name in the
// same namespace of the same store. It is safe for concurrent use and holds no
// resources. Several values of one name are one election.
type Election struct {
	client  *coord.Client
	session *coord.Session // nil: the one that the client shares
	name    string
	what    string // for people
	queue   *queue.Queue
}

// New returns the election called name. Any name of 1 to coord.MaxName bytes is
// valid; what is wrong with one shows in the first call on the election.
func New(client *coord.Client, name string, opts ...coord.RecipeOption) *Election {
	var o coord.RecipeOptions
	for _, opt := range opts {
		opt(&o)
	}
	return &Election{
		client:  client,
		session: o.Session,
		name:    name,
		what:    fmt.Sprintf("election %.64q", name),
		queue:   queue.New(client, "election", name, queue.OneByOne, opts...).ByNames(nil),
	}
}

// Campaign stands for election and waits until it is elected, first come, first
// served. value, of up to coord.MaxValue bytes, is what followers are shown: an
// address, for example. It may be nil, and can be changed by Proclaim.
//
// ctx bounds the campaign and nothing after it. When it ends first, Campaign returns at
// once with its error, and the candidate's place is given up in the background. A
// session that is lost meanwhile is an error that Is coord.ErrSessionLost, a place that
// an operator removed from the store one that Is coord.ErrRemoved; calling Campaign
// again joins at the end of the line. If the store is out of reach before there is a
// place in the line, the error Is coord.ErrUnavailable or coord.ErrUncertain, when the
// client's TTL has passed, or coord.ErrSessionLost if the session ends sooner. A waiter
// in line waits on, for as long as the session lives.
//
// When Campaign returns a leadership, Leader and Observe show it.
//
// A leader cannot campaign against itself: under the context of a Leadership of
// the same election that was not resigned, Campaign does not wait for ever but
// fails with an error that Is coord.ErrInvalid.
func (e *Election) Campaign(ctx context.Context, value []byte) (*Leadership, error) {
	return e.campaign(ctx, value, e.queue.Acquire)
}

// TryCampaign is Campaign without the waiting: if there is a leader, or a
// candidate, the error Is coord.ErrBusy, and no entry is left behind. ctx bounds
// the call, and the client's TTL the attempts to reach the store.
func (e *Election) TryCampaign(ctx context.Context, value []byte) (*Leadership, error) {
	return e.campaign(ctx, value, e.queue.TryAcquire)
}

func (e *Election) campaign(ctx context.Context, value []byte,
	join func(context.Context, queue.Request) (*queue.Entry, error)) (*Leadership, error) {
	if err := e.eligible(ctx, value); err != nil {
		return nil, fmt.Errorf("coordkit: campaign in %s: %w", e.what, err)
	}
	entry, err := join(ctx, queue.Request{
		Value:   poster{candidate, value}.encode(),
		Waiting: poster{standing, value}.encode(),
	})
	if err != nil {
		return nil, err
	}
	hold, err := entry.Hold(ctx)
	if err != nil {
		return nil, err
	}
	l := &Leadership{Hold: hold, entry: entry, what: e.what}
	if entry.Waited() {
		if err := l.Proclaim(ctx, value); err != nil {
			_ = l.Resign(ctx) // an office that nobody was told of is not kept
			return nil, err
		}
	}
	return l, nil
}

// eligible says why a campaign cannot begin, or nil.
func (e *Election) eligible(ctx context.Context, value []byte) error {
	if err := checkValue(value); err != nil {
		return err
	}
	// What was lost nobody waits for, and joining fails under a ctx that has ended.
	if led := e.queue.Entered(ctx); led != nil && led.Err() == nil && ctx.Err() == nil {
		return fmt.Errorf("%w context: it is that of a leadership of this election", coord.ErrInvalid)
	}
	return nil
}

// Do runs fn as the leader and resigns afterwards, also when fn panics. fn's ctx
// ends when the leadership is lost or ctx ends.
//
// Do returns fn's error. If the leadership was lost while fn ran, the error also Is
// coord.ErrNotHeld, also when fn returned nil. What fn did may not have been protected
// to the end. ctx bounds all of it, as far as fn heeds its ctx. Do does not return
// before fn has; if ctx ended by then, the resigning goes on in the background.
func (e *Election) Do(ctx context.Context, value []byte, fn func(ctx context.Context, l *Leadership) error) error {
	l, err := e.Campaign(ctx, value)
	if err != nil {
		return err
	}
	return l.entry.Do(ctx, l.Hold, func(ctx context.Context) error { return fn(ctx, l) })
}

// Revoke asks the leader, or candidate, with the given token to step down, as
// Candidates lists them, and waits until it has: nil means that it is gone, also if it
// was before. It is a request and nothing more. A holder that does not listen, with
// Leadership.Revoked, is not touched. The reason, of up to 1 KiB, is for the listener.
// When ctx ends first the request is withdrawn.
//
// A waiter cannot hear the request until it holds. If the holder does not call Revoked,
// Revoke waits until ctx ends, so give it a deadline.
func (e *Election) Revoke(ctx context.Context, token uint64, reason string) error {
	return e.queue.Revoke(ctx, token, reason)
}
