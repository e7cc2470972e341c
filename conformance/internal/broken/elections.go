package broken

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
)

// Elections returns the broken elections.
func Elections() []Recipe[Election] {
	all := append(brokenElections(), brokenPolls()...)
	all = slices.Concat(all, brokenRuns(), brokenSessions(), brokenValues())
	for _, m := range mistakes() {
		if m.breaks.election != "" {
			all = append(all, Recipe[Election]{m.name, m.breaks.election, m.doc, func(c *coord.Client, name string) subject.Electing {
				return m.elect(c, name)
			}})
		}
	}
	return all
}

// office is a leadership whose hold makes a mistake.
type office struct {
	subject.Hold
	sound subject.Leadership
}

func (o office) Proclaim(ctx context.Context, value []byte) error {
	return o.sound.Proclaim(ctx, value)
}

// elect makes the mistake with an election.
func (m mistake) elect(c *coord.Client, name string) subject.Electing {
	e := subject.Election(c, name)
	campaign := func(ctx context.Context, value []byte, by func(subject.Want) func(context.Context) (subject.Hold, error)) (subject.Leadership, error) {
		var sound subject.Leadership // of the hold that is returned, if one is
		keep := func(campaign func(context.Context, []byte) (subject.Leadership, error)) func(context.Context) (subject.Hold, error) {
			return func(ctx context.Context) (subject.Hold, error) {
				l, err := campaign(ctx, value)
				if err != nil {
					return nil, err
				}
				sound = l
				return l, nil
			}
		}
		w := e.Want(value)
		w.Acquire, w.Try = keep(e.Campaign), keep(e.TryCampaign)
		h, err := by(m.spoil(c, name, w))(ctx)
		if err != nil {
			return nil, err
		}
		return office{h, sound}, nil
	}
	s, w := e, m.spoil(c, name, e.Want(nil))
	s.Campaign = func(ctx context.Context, value []byte) (subject.Leadership, error) {
		return campaign(ctx, value, func(w subject.Want) func(context.Context) (subject.Hold, error) { return w.Acquire })
	}
	s.TryCampaign = func(ctx context.Context, value []byte) (subject.Leadership, error) {
		return campaign(ctx, value, func(w subject.Want) func(context.Context) (subject.Hold, error) { return w.Try })
	}
	s.Do = func(ctx context.Context, value []byte, fn subject.Func) error {
		return m.spoil(c, name, e.Want(value)).Do(ctx, fn)
	}
	s.Candidates, s.Revoke = w.Contenders, w.Revoke
	return s
}

// elected makes a broken election of a sound one.
func elected(name, breaks, doc string, spoil func(e *subject.Electing)) Recipe[Election] {
	return Recipe[Election]{name, breaks, doc, func(c *coord.Client, name string) subject.Electing {
		e := subject.Election(c, name)
		spoil(&e)
		return e
	}}
}

// leading makes a mistake with every leadership.
func leading(e *subject.Electing, spoil func(subject.Leadership) subject.Leadership) {
	spoiled := func(campaign func(context.Context, []byte) (subject.Leadership, error)) func(context.Context, []byte) (subject.Leadership, error) {
		return func(ctx context.Context, value []byte) (subject.Leadership, error) {
			l, err := campaign(ctx, value)
			if err != nil {
				return nil, err
			}
			return spoil(l), nil
		}
	}
	e.Campaign, e.TryCampaign = spoiled(e.Campaign), spoiled(e.TryCampaign)
}

// showing makes a mistake with what observers are shown. next returns what to show
// of an observation, and whether the sequence goes on.
func showing(e *subject.Electing, next func() func(election.Observation) ([]election.Observation, bool)) {
	observe := e.Observe
	e.Observe = func(ctx context.Context) iter.Seq2[election.Observation, error] {
		return func(yield func(election.Observation, error) bool) {
			show := next()
			for o, err := range observe(ctx) {
				if err != nil {
					yield(o, err)
					return
				}
				all, more := show(o)
				for _, o := range all {
					if !yield(o, nil) {
						return
					}
				}
				if !more {
					return
				}
			}
		}
	}
}

// brokenElections stand in the right line and show, or say, the wrong thing.
func brokenElections() []Recipe[Election] {
	return []Recipe[Election]{
		elected("campaigns-against-itself", "K1", "A leader that campaigns again waits for itself.",
			func(e *subject.Electing) {
				campaign, try := e.Campaign, e.TryCampaign
				e.Campaign = func(ctx context.Context, value []byte) (subject.Leadership, error) {
					return campaign(strange{ctx}, value)
				}
				e.TryCampaign = func(ctx context.Context, value []byte) (subject.Leadership, error) { return try(strange{ctx}, value) }
			}),
		elected("first-line-only", "K3", "Of a value the first line is shown.",
			func(e *subject.Electing) {
				candidates := e.Candidates
				e.Candidates = func(ctx context.Context) (coord.Contenders, error) {
					c, err := candidates(ctx)
					for i := range c.Holders {
						c.Holders[i].Value, _, _ = bytes.Cut(c.Holders[i].Value, []byte("\n"))
					}
					return c, err
				}
			}),
		elected("nobody-is-no-error", "K3", "Where nobody leads a zero leader is returned.",
			func(e *subject.Electing) {
				leader := e.Leader
				e.Leader = func(ctx context.Context) (coord.Contender, error) {
					l, err := leader(ctx)
					if errors.Is(err, election.ErrNoLeader) {
						err = nil
					}
					return l, err
				}
			}),
		elected("stale-proclaim-unsaid", "K5", "A leader that was is not told that what it proclaims counts no more.",
			func(e *subject.Electing) {
				leading(e, func(l subject.Leadership) subject.Leadership { return unsaid{l} })
			}),
		elected("proclaimed-for-nobody", "K5", "Proclaim with a ctx that has ended returns nil and writes nothing.",
			func(e *subject.Electing) {
				leading(e, func(l subject.Leadership) subject.Leadership { return forNobody{l} })
			}),
		elected("proclaim-trouble-is-final", "K6", "Proclaim takes a request that was lost for the answer.",
			func(e *subject.Electing) {
				leading(e, func(l subject.Leadership) subject.Leadership { return hasty{l} })
			}),
		elected("proclaims-when-it-can", "K6", "What could not be proclaimed in time is proclaimed when the store answers, whatever was proclaimed since.",
			func(e *subject.Electing) {
				leading(e, func(l subject.Leadership) subject.Leadership { return stubborn{l} })
			}),
		elected("revoked-in-public", "K4", "Who is asked to step down proclaims why.",
			func(e *subject.Electing) {
				leading(e, func(l subject.Leadership) subject.Leadership { return public{l} })
			}),
		elected("no-vacancy-between", "K7", "A leader is shown right after another one.",
			func(e *subject.Electing) {
				showing(e, func() func(election.Observation) ([]election.Observation, bool) {
					led := false
					return func(o election.Observation) ([]election.Observation, bool) {
						if o.Vacant && led {
							return nil, true
						}
						led = !o.Vacant
						return []election.Observation{o}, true
					}
				})
			}),
		elected("older-leaders-again", "K7", "An observer is shown the leader before once more.",
			func(e *subject.Electing) {
				showing(e, func() func(election.Observation) ([]election.Observation, bool) {
					var last election.Observation // of a leader
					return func(o election.Observation) ([]election.Observation, bool) {
						before := last
						if !o.Vacant {
							last = o
						}
						if o.Vacant || before.Leader.Token == 0 || before.Leader.Token == o.Leader.Token {
							return []election.Observation{o}, true
						}
						return []election.Observation{o, {Vacant: true}, before, {Vacant: true}, o}, true
					}
				})
			}),
		elected("observing-ends-with-the-leader", "K8", "Who has seen a leader go is shown nothing more.",
			func(e *subject.Electing) {
				showing(e, func() func(election.Observation) ([]election.Observation, bool) {
					led := 0
					return func(o election.Observation) ([]election.Observation, bool) {
						if !o.Vacant {
							led++
						}
						return []election.Observation{o}, !o.Vacant || led < 2
					}
				})
			}),
		elected("observing-ends-unsaid", "K9", "Observing ends and does not say why.",
			func(e *subject.Electing) {
				observe := e.Observe
				e.Observe = func(ctx context.Context) iter.Seq2[election.Observation, error] {
					return func(yield func(election.Observation, error) bool) {
						for o, err := range observe(ctx) {
							if err != nil || !yield(o, nil) {
								return
							}
						}
					}
				}
			}),
		elected("proclaims-in-turn", "K16", "Proclaim waits for another one that is under way, whatever its ctx says.",
			func(e *subject.Electing) {
				leading(e, func(l subject.Leadership) subject.Leadership { return inTurn{l, make(chan struct{}, 1)} })
			}),
		elected("leader-late", "K16", "Leader and Proclaim take their time.",
			func(e *subject.Electing) {
				leader := e.Leader
				e.Leader = func(ctx context.Context) (coord.Contender, error) {
					l, err := leader(ctx)
					_, err = late(ctx)(nil, err)
					return l, err
				}
			}),
	}
}

// unsaid says nothing of what it was told.
type unsaid struct{ subject.Leadership }

func (l unsaid) Proclaim(ctx context.Context, value []byte) error {
	if err := l.Leadership.Proclaim(ctx, value); !errors.Is(err, coord.ErrNotHeld) {
		return err
	}
	return nil
}

// hasty looks before it proclaims, and gives up when that fails.
type hasty struct{ subject.Leadership }

func (l hasty) Proclaim(ctx context.Context, value []byte) error {
	if err := looksOnce(ctx, l.Session().Client()); err != nil && l.Err() == nil {
		return err
	}
	return l.Leadership.Proclaim(ctx, value)
}

// stubborn does not give up what it could not proclaim.
type stubborn struct{ subject.Leadership }

func (l stubborn) Proclaim(ctx context.Context, value []byte) error {
	err := l.Leadership.Proclaim(ctx, value)
	if err != nil && ctx.Err() != nil {
		go func() { // until the client is closed
			time.Sleep(l.Session().TTL() / 8)
			_ = l.Leadership.Proclaim(context.WithoutCancel(ctx), value)
		}()
	}
	return err
}

// public shows everybody why it was asked to step down.
type public struct{ subject.Leadership }

func (l public) Revoked(ctx context.Context) (coord.Revocation, error) {
	r, err := l.Leadership.Revoked(ctx)
	if err == nil {
		_ = l.Proclaim(ctx, []byte(r.Reason))
	}
	return r, err
}

type forNobody struct{ subject.Leadership }

func (l forNobody) Proclaim(ctx context.Context, value []byte) error {
	if ctx.Err() != nil {
		return nil
	}
	return l.Leadership.Proclaim(ctx, value)
}

// inTurn proclaims one value at a time.
type inTurn struct {
	subject.Leadership
	turn chan struct{} // has room for one
}

func (l inTurn) Proclaim(ctx context.Context, value []byte) error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	return l.Leadership.Proclaim(ctx, value)
}
