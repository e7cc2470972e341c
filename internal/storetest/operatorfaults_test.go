package storetest

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/storetest/trial"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// operatorFaults are what somebody does to the holders' locks who looks after the
// store. He can let the next in at once, so two may hold a lock for a moment.
var operatorFaults = []fault{
	byOperator("session ended in the store", intervention.endSessions),
	byOperator("holder's entry removed", func(i intervention, ctx context.Context) error {
		return i.removeEntries(ctx, func(c coord.Contenders) []coord.Contender { return c.Holders })
	}),
	brief(byOperator("first waiter's entry removed", func(i intervention, ctx context.Context) error {
		return i.removeEntries(ctx, func(c coord.Contenders) []coord.Contender { return c.Waiters[:min(1, len(c.Waiters))] })
	}), 1),
	byOperator("directory removed", intervention.removeDirectories),
}

// intervention is what an operator does, with all that he needs for it. He tells the
// history before he does it.
type intervention struct {
	trial.Scene
	operator
	namespace string
	looks     *coord.Client
}

// byOperator is what an operator does to each of the locks that are held. Whoever
// holds one a TTL later must have been told.
func byOperator(name string, act func(intervention, context.Context) error) fault {
	return fault{name: name, make: func(t *testing.T, s *store, _ *rand.Rand) trial.Fault {
		op := s.operator(t)
		f := s.others(t, patient)
		f.Holder, f.Outside = trial.InProcess(s.dial(t, s.ttl, op.ways...)), true
		f.Cut = func(ctx context.Context, scene trial.Scene) error {
			return act(intervention{scene, op, s.space, f.After}, ctx)
		}
		f.Settle = s.ttl * 5 / 4
		return f
	}}
}

func (i intervention) endSessions(ctx context.Context) error {
	ended := make(map[string]bool)
	for _, l := range i.Locks {
		if ended[l.Session] {
			continue
		}
		ended[l.Session] = true
		done := i.History.Ending(trial.HolderName, l.Session)
		err := i.expire(ctx, l.Session)
		done(err)
		if err != nil {
			return err
		}
	}
	return nil
}

// removeEntries removes some of the entries of each line.
func (i intervention) removeEntries(ctx context.Context, some func(coord.Contenders) []coord.Contender) error {
	for _, l := range i.Locks {
		c, err := mutex.New(i.looks, l.Name).Contenders(ctx)
		if err != nil {
			return err
		}
		for _, entry := range some(c) {
			done := i.History.Removing(l.Name, entry.Token, entry.Session)
			err := i.removeNode(ctx, entry.Key)
			done(err)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (i intervention) removeDirectories(ctx context.Context) error {
	for _, l := range i.Locks {
		dir, err := coord.Dir("mutex", l.Name)
		if err != nil {
			return err
		}
		done := i.History.RemovingAll(l.Name)
		err = i.removeDir(ctx, i.namespace, dir)
		done(err)
		if err != nil {
			return err
		}
	}
	return nil
}
