package history_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/coordkit/coordkit/coord"
)

// excuses are what is excused, and what is not.
var excuses = []tale{
	{"an operator's removal", "", func(s story) {
		a, b := s.call("A"), s.call("B")
		s.grant(a, 1)
		s.Removing("x", 1, "A")(nil)
		s.grant(b, 2)
	}},
	{"a removal of somebody else's", "was told nothing", func(s story) {
		a, b := s.call("A"), s.call("B")
		s.grant(a, 1)
		s.Removing("x", 7, "C")(nil)
		s.grant(b, 2)
	}},
	{"a removal that hits the next entry of that name", "", func(s story) {
		a := s.call("A")
		s.grant(a, 1)
		release(a)
		done := s.Removing("x", 1, "A")
		a, b := s.call("A"), s.call("B")
		done(nil)
		s.grant(a, 2)
		s.grant(b, 3)
		pass(ttl + 2*late)
		release(a)
	}},
	{"a removal that is under way when it is told", "", func(s story) {
		a := s.call("A")
		done := s.Removing("x", 1, "A")
		pass(late)
		s.call("A").Failed(coord.ErrRemoved, nil, 0)
		a.Failed(coord.ErrRemoved, nil, 0)
		done(nil)
	}},
	{"an entry later than the removal", "was told nothing", func(s story) {
		s.Removing("x", 1, "A")(nil)
		pass(late)
		a, b := s.call("A"), s.call("B")
		s.grant(a, 2)
		s.grant(b, 3)
	}},
	{"a removal that nobody tells of", "an operator removed its entry", func(s story) {
		a := s.call("A")
		s.grant(a, 1)
		s.Removing("x", 1, "A")(nil)
		pass(ttl + 3*late)
		release(a)
	}},
	{"a removal that was none", "", func(s story) {
		a := s.call("A")
		s.grant(a, 1)
		s.Removing("x", 1, "A")(errors.New("no such entry"))
		pass(ttl + 2*late)
		release(a)
	}},
	{"a removal unheard of for a cut link", "", func(s story) {
		a := s.call("A")
		s.grant(a, 1)
		over := s.Trouble("A", "link cut")
		s.Removing("x", 1, "A")(nil)
		pass(ttl + 2*late)
		over()
		release(a)
	}},
	{"a removal of the line", "", func(s story) {
		a, b := s.call("A"), s.call("B")
		s.grant(a, 1)
		done := s.RemovingAll("x")
		c := s.call("C")
		done(nil)
		s.grant(b, 2)
		s.grant(c, 3)
	}},
	{"after a removal of the line", "was told nothing", func(s story) {
		s.RemovingAll("x")(nil)
		a, b := s.call("A"), s.call("B")
		s.grant(a, 1)
		s.grant(b, 2)
	}},
	{"a session that is ended", "", func(s story) {
		a, b := s.call("A"), s.call("B")
		s.grant(a, 1)
		s.Ending("A", "A")(nil)
		s.grant(b, 2)
	}},
	{"the end of a session that nobody tells of", "the store ended its session", func(s story) {
		a := s.call("A")
		s.grant(a, 1)
		s.Ending("A", "A")(nil)
		pass(ttl + 2*late)
		release(a)
	}},
	{"lost with the session", "", func(s story) {
		a := s.call("A")
		s.grant(a, 1)
		s.Ending("A", "A")(nil)
		a.Releasing(coord.ErrSessionLost)
		a.Released(true, nil, 0)
	}},
	{"lost for nothing", "nothing had happened", func(s story) {
		a := s.call("A")
		s.grant(a, 1)
		a.Releasing(coord.ErrSessionLost)
		a.Released(true, nil, 0)
	}},
	{"lost after a short trouble", "nothing had happened", func(s story) {
		a := s.call("A")
		over := s.Trouble("A", "link cut")
		pass(ttl / 8)
		over()
		a.Failed(coord.ErrSessionLost, nil, 0)
	}},
	{"lost after a trouble of everybody", "", func(s story) {
		a := s.call("A")
		over := s.Trouble("", "leader killed")
		pass(ttl / 2)
		over()
		a.Failed(coord.ErrSessionLost, nil, 0)
	}},
	{"a place removed for nothing", "nothing had happened", func(s story) {
		s.call("A").Failed(coord.ErrRemoved, nil, 0)
	}},
	{"a place that an operator removed", "", func(s story) {
		a := s.call("A")
		s.Removing("x", 1, "A")(nil)
		a.Failed(coord.ErrRemoved, nil, 0)
	}},
	{"an error of its own", "for a reason that it should not", func(s story) {
		s.call("A").Failed(errors.New("oops"), nil, 0)
	}},
	{"closed", "", func(s story) {
		a := s.call("A")
		s.ClosingSession("A")
		a.Failed(coord.ErrClosed, nil, 0)
	}},
	{"killed", "", func(s story) {
		a, b := s.call("A"), s.call("A")
		s.grant(a, 1)
		s.Killed("A")
		b.Failed(errors.New("whatever"), nil, 0)
	}},
	{"its time is up", "", func(s story) {
		s.call("A").Failed(fmt.Errorf("lock: %w", context.DeadlineExceeded), context.DeadlineExceeded, late/2)
	}},
	{"its time was up long ago", "after its ctx had ended", func(s story) {
		s.call("A").Failed(context.DeadlineExceeded, context.DeadlineExceeded, 2*late)
	}},
	{"its time is up, and nobody says so", "for a reason that it should not", func(s story) {
		s.call("A").Failed(errors.New("timeout"), context.DeadlineExceeded, 0)
	}},
	{"taken", "", func(s story) { s.call("A").Busy(0) }},
	{"a call without end", "does not come to an end", func(s story) {
		s.call("A")
		s.Unresolved()
	}},
	{"a release without end", "the release of x", func(s story) {
		a := s.call("A")
		s.grant(a, 1)
		a.Releasing(nil)
		s.Unresolved()
	}},
	{"downgraded", "", func(s story) {
		a, b := s.call("A"), s.read("B")
		s.grant(a, 1)
		a.Downgrading()
		s.grant(b, 2)
		a.Downgraded(lock{context.Background(), 1})
	}},
	{"downgraded and let a writer in", "while A downgraded it", func(s story) {
		a, b := s.call("A"), s.call("B")
		s.grant(a, 1)
		a.Downgrading()
		s.lose(a) // the first hold ends before there is another
		s.grant(b, 2)
		a.Downgraded(lock{context.Background(), 1})
	}},
	{"downgraded to another token", "to another one", func(s story) {
		a := s.call("A")
		s.grant(a, 1)
		a.Downgrading()
		a.Downgraded(lock{context.Background(), 2})
	}},
	{"not downgraded", "was told nothing", func(s story) {
		a, b := s.call("A"), s.read("B")
		s.grant(a, 1)
		a.Downgrading()
		a.NotDowngraded(errors.New("no"))
		s.grant(b, 2)
	}},
}
