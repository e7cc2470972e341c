package history_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/conformance/history"
)

const (
	ttl  = time.Second
	late = 100 * time.Millisecond
)

// story is a history of one object with the means to tell it in few words.
type story struct {
	*history.History
	ends map[*history.Op]context.CancelFunc
}

func (s story) call(who string) *history.Op { return s.Call(who, "x", history.Exclusive, 0) }
func (s story) read(who string) *history.Op { return s.Call(who, "x", history.Shared, 0) }

func (s story) want(who string, permits int) *history.Op {
	return s.Call(who, "x", history.Permits, permits)
}

// grant grants on the session that is called like the client.
func (s story) grant(op *history.Op, token uint64) {
	ctx, cancel := context.WithCancel(context.Background())
	s.ends[op] = cancel
	client, _, _ := strings.Cut(op.ID(), "#")
	op.Granted(lock{ctx, token}, client)
}

// lose ends a hold, as its loss does.
func (s story) lose(op *history.Op) { s.ends[op]() }

func release(op *history.Op) {
	op.Releasing(nil)
	op.Released(false, nil, 0)
}

func pass(d time.Duration) { time.Sleep(d) } // in virtual time

// tale is something that happens. want is part of the violation that it is, or
// empty.
type tale struct {
	name string
	want string
	tell func(s story)
}

// tales are of calls and grants.
var tales = []tale{
	{"one after the other", "", func(s story) {
		a := s.call("A")
		s.grant(a, 1)
		release(a)
		s.grant(s.call("B"), 2)
	}},
	{"two at a time", "was told nothing", func(s story) {
		a, b := s.call("A"), s.call("B")
		s.grant(a, 1)
		s.grant(b, 2)
	}},
	{"after a loss", "", func(s story) {
		a, b := s.call("A"), s.call("B")
		s.grant(a, 1)
		s.lose(a)
		s.grant(b, 2)
	}},
	{"lost before it is on record", "", func(s story) {
		a, b := s.call("A"), s.call("B")
		s.grant(b, 2)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		a.Granted(lock{ctx, 1}, "A")
	}},
	{"readers", "", func(s story) {
		b, a := s.read("B"), s.read("A")
		s.grant(a, 2)
		s.grant(b, 1)
	}},
	{"reader and writer", "A holds x (shared) with token 1 while B", func(s story) {
		b, a := s.call("B"), s.read("A")
		s.grant(b, 2)
		s.grant(a, 1)
	}},
	{"permits", "", func(s story) {
		a, b := s.want("A", 2), s.want("B", 1)
		s.grant(a, 1)
		s.grant(b, 2)
	}},
	{"too many permits", "4 permits of x are held", func(s story) {
		a, b := s.want("A", 2), s.want("B", 2)
		s.grant(a, 1)
		s.grant(b, 2)
	}},
	{"a higher limit", "", func(s story) {
		a, b := s.want("A", 2), s.want("B", 2)
		s.grant(a, 1)
		s.MayBe("x", 4)
		s.grant(b, 2)
		s.Limit("x", 2) // takes nothing away
		release(a)
		release(b)
		s.grant(s.want("C", 2), 3)
	}},
	{"a lower limit", "3 permits of x are held", func(s story) {
		s.Limit("x", 2)
		s.grant(s.want("A", 3), 1)
	}},
	{"the same token", "which A was given before", func(s story) {
		a, b := s.call("A"), s.call("B")
		s.grant(a, 1)
		release(a)
		s.grant(b, 1)
	}},
	{"a token from before", "had not even called when token 7", func(s story) {
		a := s.call("A")
		s.grant(a, 7)
		release(a)
		s.grant(s.call("B"), 6)
	}},
	{"overtaken", "was overtaken by B", func(s story) {
		a, b := s.call("A"), s.call("B")
		s.grant(b, 2)
		release(b)
		s.grant(a, 1)
	}},
	{"overtaken by who called long after", "was overtaken by B", func(s story) {
		a := s.call("A")
		pass(2 * late)
		b := s.call("B")
		s.grant(b, 1)
		release(b)
		s.grant(a, 2)
	}},
	{"not overtaken, as it could not join", "", func(s story) {
		defer s.Trouble("A", "link cut")()
		a := s.call("A")
		pass(2 * late)
		b := s.call("B")
		s.grant(b, 1)
		release(b)
		s.grant(a, 2)
	}},
	{"overtaken by a reader", "was overtaken by B", func(s story) {
		a, b := s.call("A"), s.read("B")
		s.grant(b, 2)
		release(b)
		s.grant(a, 1)
	}},
	{"many overtaken by few", "was overtaken by B", func(s story) {
		a, b := s.want("A", 3), s.want("B", 1)
		s.grant(b, 2)
		release(b)
		s.grant(a, 1)
	}},
	{"both fit", "", func(s story) {
		a, b := s.want("A", 2), s.want("B", 1)
		s.grant(b, 2)
		s.grant(a, 1)
	}},
}

func TestJudgement(t *testing.T) {
	for _, tale := range slices.Concat(tales, excuses, sights) {
		t.Run(tale.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := story{history.New(history.Options{TTL: ttl, Late: late, Exact: true}), make(map[*history.Op]context.CancelFunc)}
				s.Limit("x", 3)
				tale.tell(s)
				got := s.Violations()
				switch {
				case tale.want == "" && len(got) > 0:
					t.Errorf("%s; want no violation", got[0].Text)
				case tale.want != "" && len(got) == 0:
					t.Errorf("no violation; want %q", tale.want)
				case tale.want != "" && !strings.Contains(got[0].Text, tale.want):
					t.Errorf("%s; want %q", got[0].Text, tale.want)
				}
				broken := false
				select {
				case <-s.Broken():
					broken = true
				default:
				}
				if broken != (len(got) > 0) {
					t.Errorf("Broken is closed: %t, with %d violations", broken, len(got))
				}
			})
		})
	}
}
