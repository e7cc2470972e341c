package broken

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/recipes/election"
)

// brokenValues are elections that share slices with their callers, or tell leaders apart by
// the wrong thing.
func brokenValues() []Recipe[Election] {
	return []Recipe[Election]{
		{"values-shared", "K3", "Leader and Candidates of one client return the same slices each time.",
			func(c *coord.Client, name string) subject.Electing {
				e := subject.Election(c, name)
				shared := c.Local(valuesKey{}, func() any { return new(sync.Map) }).(*sync.Map)
				share := func(one *coord.Contender) {
					slice, _ := shared.LoadOrStore(fmt.Sprintf("%d %s", one.Token, one.Value), one.Value)
					one.Value = slice.([]byte)
				}
				leader, candidates := e.Leader, e.Candidates
				e.Leader = func(ctx context.Context) (coord.Contender, error) {
					l, err := leader(ctx)
					share(&l)
					return l, err
				}
				e.Candidates = func(ctx context.Context) (coord.Contenders, error) {
					all, err := candidates(ctx)
					for i := range all.Holders {
						share(&all.Holders[i])
					}
					return all, err
				}
				return e
			}},
		{"value-kept", "K3", "A client shows what its own leader has proclaimed from the slice that Proclaim was given.",
			func(c *coord.Client, name string) subject.Electing {
				e := subject.Election(c, name)
				kept := c.Local(keptKey{}, func() any { return new(sync.Map) }).(*sync.Map)
				leading(&e, func(l subject.Leadership) subject.Leadership { return keeper{l, kept} })
				leader := e.Leader
				e.Leader = func(ctx context.Context) (coord.Contender, error) {
					l, err := leader(ctx)
					if value, ok := kept.Load(l.Token); ok {
						l.Value = value.([]byte)
					}
					return l, err
				}
				return e
			}},
		elected("run-keeps-its-value", "K18", "Run campaigns again with what is in the caller's slice by then.",
			func(e *subject.Electing) {
				run := e.Run
				e.Run = func(ctx context.Context, value []byte, fn subject.Term, opts *election.RunOptions) error {
					for {
						var why error // it stepped down
						var last subject.Leadership
						err := run(ctx, value, func(ctx context.Context, l subject.Leadership) error {
							err := fn(ctx, l)
							if why, last = nil, l; errors.Is(err, election.ErrStepDown) {
								why = err
								return nil
							}
							return err
						}, opts)
						if why == nil {
							return err
						}
						if opts != nil && opts.Defeated != nil {
							opts.Defeated(last.(subject.Elected).Leadership, why)
						}
					}
				}
			}),
		elected("since-it-was-looked-at", "K3", "The leader shows as one that has just come.",
			func(e *subject.Electing) {
				leader := e.Leader
				e.Leader = func(ctx context.Context) (coord.Contender, error) {
					l, err := leader(ctx)
					l.Since = time.Now()
					return l, err
				}
			}),
		{"leaders-by-key", "K7", "Observers tell leaders apart by the key of the node, which a later one may have again.",
			func(c *coord.Client, name string) subject.Electing {
				e := subject.Election(c, name)
				e.Observe = observeByKey(c, name, e)
				return e
			}},
	}
}

// valuesKey and keptKey find the slices that a client shares, and those that its leaders
// were given.
type (
	valuesKey struct{}
	keptKey   struct{}
)

// keeper keeps the slice that it was given last, by its token.
type keeper struct {
	subject.Leadership
	kept *sync.Map
}

func (l keeper) Proclaim(ctx context.Context, value []byte) error {
	err := l.Leadership.Proclaim(ctx, value)
	if err == nil {
		l.kept.Store(l.Token(), value)
	}
	return err
}

// observeByKey shows the leader when the key or the value of the first node is another.
func observeByKey(c *coord.Client, name string, e subject.Electing) func(context.Context) iter.Seq2[election.Observation, error] {
	return func(ctx context.Context) iter.Seq2[election.Observation, error] {
		return func(yield func(election.Observation, error) bool) {
			dir, err := coord.Dir("election", name)
			if err != nil {
				yield(election.Observation{}, err)
				return
			}
			var key, value string // of the leader that was shown
			begun := false
			for nodes, err := range c.Watch(ctx, dir) {
				if err != nil {
					yield(election.Observation{}, err)
					return
				}
				if len(nodes) > 0 && nodes[0].Key == key && string(queue.Value(nodes[0])) == value {
					continue
				}
				l, err := e.Leader(ctx)
				if err != nil && !errors.Is(err, election.ErrNoLeader) {
					continue
				}
				if vacant := err != nil; vacant || key != "" && key != l.Key {
					if (!begun || key != "") && !yield(election.Observation{Vacant: true}, nil) {
						return
					}
					begun, key, value = true, "", ""
					if vacant {
						continue
					}
				}
				if len(nodes) > 0 && nodes[0].Key == l.Key {
					begun, key, value = true, l.Key, string(queue.Value(nodes[0]))
				}
				if !yield(election.Observation{Leader: l}, nil) {
					return
				}
			}
		}
	}
}
