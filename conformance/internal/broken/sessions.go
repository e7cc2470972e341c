package broken

import (
	"context"
	"errors"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// on makes a mistake of recipes that were given a session. spoil is given the sound recipe
// on it, and the one on the session that the client shares.
func on(spoil func(c *coord.Client, s *coord.Session, own func() subject.Want, shared subject.Want) subject.Want) func(*coord.Client, string, subject.Want) subject.Want {
	return func(c *coord.Client, _ string, w subject.Want) subject.Want {
		sound, shared := w.On, w
		w.On = func(s *coord.Session) subject.Want {
			return spoil(c, s, func() subject.Want { return sound(s) }, shared)
		}
		return w
	}
}

// sessionMistakes are about the session that a recipe was given. Those of the election are
// among brokenSessions.
func sessionMistakes() []mistake {
	return []mistake{
		{
			name: "session-ignored", breaks: givenSessionPromise,
			doc: "A session that the recipe was given is not used.",
			spoil: on(func(_ *coord.Client, _ *coord.Session, _ func() subject.Want, shared subject.Want) subject.Want {
				return shared
			}),
		},
		{
			name: "session-closed-by-release", breaks: givenSessionPromise,
			doc: "A release closes the session, also one that belongs to the caller.",
			spoil: on(func(c *coord.Client, s *coord.Session, own func() subject.Want, _ subject.Want) subject.Want {
				return holding(func(h subject.Hold) subject.Hold { return closing{h, s} })(c, "", own())
			}),
		},
		{
			name: "session-replaced", breaks: givenSessionPromise,
			doc: "When the session that the recipe was given is over, it goes on with the client's.",
			spoil: on(func(_ *coord.Client, _ *coord.Session, own func() subject.Want, shared subject.Want) subject.Want {
				w := own()
				w.Acquire = instead(w.Acquire, shared.Acquire)
				w.Try = instead(w.Try, shared.Try)
				return w
			}),
		},
		{
			name: "no-session-will-do", breaks: givenSessionPromise,
			doc: "A recipe that was given a session that is nil, or another client's, uses the one that the client shares.",
			spoil: on(func(c *coord.Client, s *coord.Session, own func() subject.Want, shared subject.Want) subject.Want {
				if s == nil || s.Client() != c {
					return shared
				}
				return own()
			}),
		},
	}
}

// closing closes the session with the hold.
type closing struct {
	subject.Hold
	s *coord.Session
}

func (h closing) Release(ctx context.Context) error {
	return errors.Join(h.Hold.Release(ctx), h.s.Close(ctx))
}

// instead acquires in another way where the session is over.
func instead(acquire, other acquire) acquire {
	return func(ctx context.Context) (subject.Hold, error) {
		h, err := acquire(ctx)
		if errors.Is(err, coord.ErrSessionLost) || errors.Is(err, coord.ErrClosed) {
			return other(ctx)
		}
		return h, err
	}
}

// brokenSessions are elections that were given a session.
func brokenSessions() []Recipe[Election] {
	return []Recipe[Election]{
		elected("session-ignored", "K24", "A session that the election was given is not used.",
			func(e *subject.Electing) {
				shared := *e
				e.On = func(*coord.Session) subject.Electing { return shared }
			}),
		elected("session-closed-by-resign", "K24", "Resign closes the session, also one that belongs to the caller.",
			func(e *subject.Electing) {
				sound := e.On
				e.On = func(s *coord.Session) subject.Electing {
					own := sound(s)
					leading(&own, func(l subject.Leadership) subject.Leadership { return office{closing{l, s}, l} })
					return own
				}
			}),
	}
}
