package soak

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// Election makes a Recipe of an election.
func Election(name, line string, open func(u User, line string) subject.Electing) Recipe {
	the := func(u User) subject.Electing { return open(u, line) }
	campaign := func(op *history.Op, by func(value []byte) (subject.Leadership, error)) (Hold, error) {
		value := firstValue(op)
		op.Proclaiming(value)
		l, err := by([]byte(value))
		if err != nil {
			return nil, err
		}
		return l, nil
	}
	want := Want{
		Kind: history.Exclusive,
		Acquire: func(ctx context.Context, u User, op *history.Op) (Hold, error) {
			return campaign(op, func(value []byte) (subject.Leadership, error) { return the(u).Campaign(ctx, value) })
		},
		Try: func(ctx context.Context, u User, op *history.Op) (Hold, error) {
			return campaign(op, func(value []byte) (subject.Leadership, error) { return the(u).TryCampaign(ctx, value) })
		},
		Do: func(ctx context.Context, u User, op *history.Op, fn func(context.Context, uint64) error) error {
			value := firstValue(op)
			op.Proclaiming(value)
			return the(u).Do(ctx, []byte(value), fn)
		},
		Refusal: coord.ErrInvalid, // a leader cannot campaign against itself
	}
	for _, by := range []func(u User) func(context.Context, []byte) (subject.Leadership, error){
		func(u User) func(context.Context, []byte) (subject.Leadership, error) { return the(u).Campaign },
		func(u User) func(context.Context, []byte) (subject.Leadership, error) { return the(u).TryCampaign },
	} {
		want.Refused = append(want.Refused, Entry{history.Exclusive, func(ctx context.Context, u User) (Hold, error) {
			l, err := by(u)(ctx, []byte(history.Anybody))
			if err != nil {
				return nil, err
			}
			return l, nil
		}})
	}
	return Recipe{
		Name: name, Kind: "election", Dir: lineDir("election", line), Wants: []Want{want},
		Contenders: func(ctx context.Context, u User) (coord.Contenders, error) { return the(u).Candidates(ctx) },
		Revoke: func(ctx context.Context, u User, token uint64, reason string) error {
			return the(u).Revoke(ctx, token, reason)
		},
		Leader: func(ctx context.Context, u User) (coord.Contender, error) { return the(u).Leader(ctx) },
		Run: func(ctx context.Context, u User, value string, term func(context.Context, Hold) error) error {
			return the(u).Run(ctx, []byte(value), func(ctx context.Context, l subject.Leadership) error { return term(ctx, l) }, nil)
		},
		Follow: func(ctx context.Context, u User, f func(token uint64, value string) bool) error {
			for o, err := range the(u).Observe(ctx) {
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

// errNothing: a range has to show something or say why not.
var errNothing = errors.New("it has ended and did not say why")

// firstValue is what a candidate stands with.
func firstValue(op *history.Op) string { return valueOf(op, 0) }

// valueOf is the n-th value of a call: one of a kind, and of bytes that are easily
// lost on the way. Now and then it is long.
func valueOf(op *history.Op, n int) string {
	value := fmt.Sprintf(" %s %d\n\xff\x00 ", op.ID(), n)
	if n%3 == 2 {
		value += strings.Repeat("long ", 1000)
	}
	return value
}
