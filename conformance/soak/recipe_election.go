package soak

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
)

func electionRecipe() Recipe {
	the := func(c *coord.Client) *election.Election { return election.New(c, lineName) }
	campaign := func(op *history.Op, by func(value []byte) (*election.Leadership, error)) (Hold, error) {
		value := poster(op, 0)
		op.Proclaiming(value)
		l, err := by([]byte(value))
		if err != nil {
			return nil, err
		}
		return leadership{l}, nil
	}
	return Recipe{
		Name: "election",
		Dir:  lineDir("election", lineName),
		Wants: []Want{{
			Kind: history.Exclusive,
			Acquire: func(ctx context.Context, c *coord.Client, op *history.Op) (Hold, error) {
				return campaign(op, func(value []byte) (*election.Leadership, error) { return the(c).Campaign(ctx, value) })
			},
			Try: func(ctx context.Context, c *coord.Client, op *history.Op) (Hold, error) {
				return campaign(op, func(value []byte) (*election.Leadership, error) { return the(c).TryCampaign(ctx, value) })
			},
			Use: func(ctx context.Context, hold Hold, op *history.Op) (Hold, error) {
				return nil, lead(ctx, the(hold.Session().Client()), hold.(leadership), op)
			},
		}},
		Contenders: func(ctx context.Context, c *coord.Client) (coord.Contenders, error) { return the(c).Candidates(ctx) },
		Follow: func(ctx context.Context, c *coord.Client, f func(token uint64, value string) bool) error {
			for o, err := range the(c).Observe(ctx) {
				if err != nil {
					return err
				}
				if o.Vacant != (o.Leader.Token == 0) {
					return fmt.Errorf("an odd observation: %+v", o)
				}
				if !f(o.Leader.Token, string(o.Leader.Value)) {
					return nil
				}
			}
			return errNothing
		},
	}
}

type leadership struct{ *election.Leadership }

func (l leadership) Release(ctx context.Context) error { return l.Resign(ctx) }

// proclamations is how many values a leader proclaims after its first.
const proclamations = 2

// lead proclaims, and asks each time whether everybody would be shown that.
func lead(ctx context.Context, e *election.Election, l leadership, op *history.Op) error {
	for n := range 1 + proclamations {
		value := poster(op, n)
		if n > 0 {
			op.Proclaiming(value)
			if err := l.Proclaim(ctx, []byte(value)); err != nil {
				return ignoreTransient(err)
			}
			op.Proclaimed()
		}
		leader, err := e.Leader(ctx)
		if err != nil {
			return ignoreTransient(err)
		}
		if leader.Token != l.Token() || string(leader.Value) != value {
			return fmt.Errorf("the leader shows as %d with the value %.40q; want %.40q", leader.Token, leader.Value, value)
		}
	}
	return nil
}

// ignoreTransient returns nil if err says that the store was away.
func ignoreTransient(err error) error {
	if errors.Is(err, coord.ErrUnavailable) || errors.Is(err, coord.ErrUncertain) {
		return nil
	}
	return err
}

// poster is the n-th value of a call: one of a kind, and of bytes that are easily
// lost on the way. Now and then it is long.
func poster(op *history.Op, n int) string {
	value := fmt.Sprintf(" %s %d\n\xff\x00 ", op.ID(), n)
	if n == proclamations {
		value += strings.Repeat("long ", 1000)
	}
	return value
}
