package history_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// line is a state of a line.
func line(tokens ...uint64) (nodes []driver.Node) {
	for _, t := range tokens {
		nodes = append(nodes, driver.Node{Key: "k", Seq: t, Token: t})
	}
	return nodes
}

func (s story) look(states ...[]driver.Node) *history.Sight {
	l := s.Onlooker("O.1", "x")
	l.Begin()
	for _, nodes := range states {
		l.Saw(nodes)
	}
	return l
}

func (s story) follow() *history.Follower {
	f := s.Follower("O.1", "x")
	f.Begin()
	return f
}

// elect makes a leader with its first value.
func (s story) elect(who string, token uint64, value string) *history.Op {
	op := s.call(who)
	op.Proclaiming(value)
	s.grant(op, token)
	return op
}

func proclaim(op *history.Op, value string) {
	op.Proclaiming(value)
	op.Proclaimed()
}

// sights are what onlookers may be shown and what not.
var sights = []tale{
	{"states in order", "", func(s story) { s.look(line(), line(1), line(1, 2), line(2), line(2, 5), line()) }},
	{"a state in no order", "not in order", func(s story) { s.look(line(2, 1)) }},
	{"an old state", "not there any more", func(s story) { s.look(line(1, 2), line(2), line(1, 2)) }},
	{"what was left out", "not there yet", func(s story) { s.look(line(2), line(1, 2)) }},
	{"a holder that is not shown", "is not there", func(s story) {
		s.grant(s.call("A"), 1)
		s.look(line())
	}},
	{"a holder that has gone meanwhile", "", func(s story) {
		a := s.call("A")
		s.grant(a, 1)
		l := s.look()
		release(a)
		l.Saw(line())
	}},
	{"a holder that is never shown", "is not shown its entry", func(s story) {
		s.look(line())
		a := s.call("A")
		s.grant(a, 1)
		pass(3 * ttl)
		release(a)
	}},
	{"a holder that is not shown to who has left", "", func(s story) {
		s.look(line()).Left()
		a := s.call("A")
		s.grant(a, 1)
		pass(3 * ttl)
		release(a)
	}},
	{"a watch that ends", "is shown nothing more", func(s story) { s.look().Ended(errors.New("oops"), nil) }},
	{"a watch that is ended", "", func(s story) { s.look().Ended(context.Canceled, context.Canceled) }},
	{"a watch that ends with the client", "", func(s story) {
		l := s.look()
		s.Closing("O")
		l.Ended(coord.ErrClosed, nil)
	}},
	{"a watch that ends with a session", "is shown nothing more", func(s story) {
		l := s.look()
		s.ClosingSession("O")
		l.Ended(coord.ErrClosed, nil)
	}},

	{"leaders", "", func(s story) {
		f := s.follow()
		f.Saw(0, "")
		a := s.elect("A", 1, "a")
		f.Saw(1, "a")
		proclaim(a, "aa")
		f.Saw(1, "aa")
		release(a)
		f.Saw(0, "")
		s.elect("B", 2, "b")
		f.Saw(2, "b")
	}},
	{"an older leader", "leader 2 was shown before", func(s story) {
		f := s.follow()
		release(s.elect("A", 1, "a"))
		s.elect("B", 2, "b")
		f.Saw(2, "b")
		f.Saw(0, "")
		f.Saw(1, "a")
	}},
	{"no vacancy", "without a vacancy", func(s story) {
		f := s.follow()
		a := s.elect("A", 1, "a")
		f.Saw(1, "a")
		release(a)
		s.elect("B", 2, "b")
		f.Saw(2, "b")
	}},
	{"two vacancies", "for the second time", func(s story) {
		f := s.follow()
		f.Saw(0, "")
		f.Saw(0, "")
	}},
	{"an older value", "a later value was shown before", func(s story) {
		f := s.follow()
		proclaim(s.elect("A", 1, "a"), "aa")
		f.Saw(1, "aa")
		f.Saw(1, "a")
	}},
	{"nobody's value", "nobody has proclaimed", func(s story) {
		f := s.follow()
		s.elect("A", 1, "a")
		f.Saw(1, "b")
	}},
	{"another's value", "that is the value of leader 1", func(s story) {
		release(s.elect("A", 1, "a"))
		s.elect("B", 2, "b")
		s.follow().Saw(2, "a")
	}},
	{"an entry that was removed before its caller knew of it", "", func(s story) {
		f, a := s.follow(), s.call("A")
		a.Proclaiming("a")
		s.Removing("x", 1, "session of A")(nil)
		s.grant(a, 2)
		f.Saw(1, "a")
	}},
	{"a value of a call that made one entry", "that is the value of leader 2", func(s story) {
		f, a := s.follow(), s.call("A")
		a.Proclaiming("a")
		s.grant(a, 2)
		f.Saw(1, "a")
	}},
	{"a leader that is not on record yet", "", func(s story) {
		f := s.follow()
		s.call("A").Proclaiming("a")
		f.Saw(1, "a")
	}},
	{"a late beginning", "led when it began to look", func(s story) {
		s.elect("A", 1, "a")
		s.follow().Saw(0, "")
	}},
	{"a value from before the beginning", "had been written before it began", func(s story) {
		proclaim(s.elect("A", 1, "a"), "aa")
		s.follow().Saw(1, "a")
	}},
	{"a value that is never shown", "what it has proclaimed last", func(s story) {
		a := s.elect("A", 1, "a")
		s.follow().Saw(1, "a")
		proclaim(a, "aa")
		pass(3 * ttl)
		release(a)
	}},
}

// A failure shows what led to it, and not what has nothing to do with it.
func TestExplain(t *testing.T) {
	s := story{history.New(history.Options{TTL: time.Minute, Late: time.Minute}), make(map[*history.Op]context.CancelFunc)}
	for range 1000 {
		release(func() *history.Op { op := s.Call("Z", "y", history.Exclusive, 0); s.grant(op, s.next()); return op }())
	}
	over := s.Trouble("A", "link cut")
	a, b := s.call("A"), s.call("B.7")
	s.grant(a, 1)
	over()
	s.grant(b, 2)
	var text strings.Builder
	if err := s.Explain(&text, s.Violations()[0]); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"B.7 holds x", "A: link cut", "A: no more link cut", "wants x (exclusive)", "token 1"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
	if n := strings.Count(text.String(), "\n"); n > 30 || strings.Contains(text.String(), " y ") {
		t.Errorf("%d lines:\n%s", n, text.String())
	}
	var all strings.Builder
	if n, err := s.WriteTo(&all); err != nil || int(n) != all.Len() || strings.Count(all.String(), "\n") < 4000 {
		t.Errorf("WriteTo wrote %d bytes of %d, %v", all.Len(), n, err)
	}
}

func (s story) next() uint64 { return uint64(s.Counts().Granted + 1) }
