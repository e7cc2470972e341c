package subject

import (
	"context"
	"iter"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
)

// Leadership is what the election gives. Release is what it calls Resign.
type Leadership interface {
	Hold
	Proclaim(ctx context.Context, value []byte) error
}

// Term is what Run runs.
type Term = func(ctx context.Context, l Leadership) error

// Electing is an election.
type Electing struct {
	Campaign    func(ctx context.Context, value []byte) (Leadership, error)
	TryCampaign func(ctx context.Context, value []byte) (Leadership, error)
	Do          func(ctx context.Context, value []byte, fn Func) error
	Run         func(ctx context.Context, value []byte, fn Term, opts *election.RunOptions) error
	Candidates  func(ctx context.Context) (coord.Contenders, error)
	Leader      func(ctx context.Context) (coord.Contender, error)
	Observe     func(ctx context.Context) iter.Seq2[election.Observation, error]
	Revoke      func(ctx context.Context, token uint64, reason string) error

	// On is as that of a Want.
	On func(s *coord.Session) Electing
}

// Want is the way to want it as every recipe is wanted.
func (e Electing) Want(value []byte) Want {
	hold := func(campaign func(context.Context, []byte) (Leadership, error)) func(context.Context) (Hold, error) {
		return func(ctx context.Context) (Hold, error) {
			l, err := campaign(ctx, value)
			if err != nil {
				return nil, err
			}
			return l, nil
		}
	}
	w := Want{
		Acquire: hold(e.Campaign), Try: hold(e.TryCampaign),
		Do:         func(ctx context.Context, fn Func) error { return e.Do(ctx, value, fn) },
		Contenders: e.Candidates, Revoke: e.Revoke,
	}
	if e.On != nil {
		w.On = func(s *coord.Session) Want { return e.On(s).Want(value) }
	}
	return w
}

// Elected is the Leadership of the election.
type Elected struct{ *election.Leadership }

// Release resigns.
func (l Elected) Release(ctx context.Context) error { return l.Resign(ctx) }

// Election is the election.
func Election(c *coord.Client, name string) Electing {
	e := ElectionOf(election.New(c, name))
	e.On = func(s *coord.Session) Electing { return ElectionOf(election.New(c, name, coord.WithSession(s))) }
	return e
}

// ElectionOf is an election that was made with options.
func ElectionOf(e *election.Election) Electing {
	lead := func(l *election.Leadership, err error) (Leadership, error) {
		if err != nil {
			return nil, err
		}
		return Elected{l}, nil
	}
	return Electing{
		Campaign: func(ctx context.Context, value []byte) (Leadership, error) { return lead(e.Campaign(ctx, value)) },
		TryCampaign: func(ctx context.Context, value []byte) (Leadership, error) {
			return lead(e.TryCampaign(ctx, value))
		},
		Do: func(ctx context.Context, value []byte, fn Func) error {
			return e.Do(ctx, value, func(ctx context.Context, l *election.Leadership) error { return fn(ctx, l.Token()) })
		},
		Run: func(ctx context.Context, value []byte, fn Term, opts *election.RunOptions) error {
			return e.Run(ctx, value, func(ctx context.Context, l *election.Leadership) error { return fn(ctx, Elected{l}) }, opts)
		},
		Candidates: e.Candidates, Leader: e.Leader, Observe: e.Observe, Revoke: e.Revoke,
	}
}
