package history_test

import (
	"context"
	"strings"
	"testing"

	"github.com/coordkit/coordkit/conformance/history"
)

// What is excused is counted all the same, and its tokens have to be in order.
func TestExcused(t *testing.T) {
	overlap := func(s story, first, second uint64) {
		a, b := s.call("A"), s.call("B")
		s.grant(a, first)
		s.grant(b, second)
	}
	for _, tale := range []struct {
		name    string
		excused int
		want    string // of the violation, or empty
		tell    func(s story)
	}{
		{"the store may end sessions", 1, "", func(s story) {
			s.MayEnd("a defect")
			overlap(s, 1, 2)
		}},
		{"the store may end sessions, tokens out of order", 1, "do not order them", func(s story) {
			s.MayEnd("a defect")
			overlap(s, 2, 1)
		}},
		{"an operator's removal", 1, "", func(s story) {
			a, b := s.call("A"), s.call("B")
			s.grant(a, 1)
			s.Removing("x", 1, "A")(nil)
			s.grant(b, 2)
		}},
		{"an operator's removal that was told of", 0, "", func(s story) {
			a, b := s.call("A"), s.call("B")
			s.grant(a, 1)
			s.Removing("x", 1, "A")(nil)
			s.lose(a)
			s.grant(b, 2)
		}},
		{"a client that was killed", 0, "", func(s story) {
			s.Killed("A")
			overlap(s, 1, 2)
		}},
		{"readers", 0, "", func(s story) {
			s.MayEnd("a defect")
			s.grant(s.read("A"), 1)
			s.grant(s.read("B"), 2)
		}},
		{"nothing excuses it", 0, "was told nothing", func(s story) { overlap(s, 1, 2) }},
	} {
		t.Run(tale.name, func(t *testing.T) {
			s := story{history.New(history.Options{TTL: ttl, Late: late}), make(map[*history.Op]context.CancelFunc)}
			tale.tell(s)
			if n := len(s.Excused()); n != tale.excused {
				t.Errorf("%d grants are excused: %v; want %d", n, s.Excused(), tale.excused)
			}
			got := s.Violations()
			switch {
			case tale.want == "" && len(got) > 0:
				t.Errorf("%s; want no violation", got[0].Text)
			case tale.want != "" && (len(got) == 0 || !strings.Contains(got[0].Text, tale.want) || got[0].Promise != history.Exclusion):
				t.Errorf("the violations are %+v; want the first of exclusion: %q", got, tale.want)
			}
		})
	}
}

func TestPromises(t *testing.T) {
	s := story{history.New(history.Options{TTL: ttl, Late: late}), make(map[*history.Op]context.CancelFunc)}
	s.call("A").Failed(context.DeadlineExceeded, context.DeadlineExceeded, 2*late)
	s.call("A").Failed(context.Canceled, nil, 0)
	s.call("A")
	s.Unresolved()
	want := []history.Promise{history.Deadline, history.Cause, history.Resolution}
	got := s.Violations()
	if len(got) != len(want) {
		t.Fatalf("the violations are %+v; want %v", got, want)
	}
	for i, v := range got {
		if v.Promise != want[i] {
			t.Errorf("%q is about %q; want %q", v.Text, v.Promise, want[i])
		}
	}
}
