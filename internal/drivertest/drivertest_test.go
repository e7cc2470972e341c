package drivertest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/coordkit/coordkit/conformance"
)

// server counts how often it was started and closed.
type server struct{ started, closed int }

func (s *server) Close() error {
	s.closed++
	return nil
}

func TestSharedIsStartedOnce(t *testing.T) {
	one := &server{}
	s := Share(func(_ context.Context, opts int) (*server, error) {
		one.started += opts
		return one, nil
	}, 1)
	Must(t, s.Close())
	if one.started+one.closed != 0 {
		t.Errorf("%+v before anybody asked", one)
	}
	for range 2 {
		if s.Get(t) != one {
			t.Error("another one")
		}
	}
	Must(t, s.Close())
	if one.started != 1 || one.closed != 1 {
		t.Errorf("%+v; want it started and closed once", one)
	}
}

// failing notes how a test would fail, and ends its goroutine.
type failing struct {
	testing.TB
	said bool
}

func (f *failing) Helper() {}
func (f *failing) Fatal(...any) {
	f.said = true
	panic(f)
}
func (f *failing) Fatalf(string, ...any) { f.Fatal() }

// fails reports whether an assertion fails.
func fails(assert func(t testing.TB)) bool {
	f := &failing{}
	func() {
		defer func() { _ = recover() }() // Fatal's
		assert(f)
	}()
	return f.said
}

func TestAssertionsFail(t *testing.T) {
	cause, other := errors.New("cause"), errors.New("other")
	over := make(chan error, 1)
	over <- cause
	broken := Share(func(context.Context, int) (*server, error) { return nil, cause }, 0)
	for name, tt := range map[string]struct {
		assert func(testing.TB)
		fails  bool
	}{
		"no error":        {func(t testing.TB) { Must(t, nil) }, false},
		"an error":        {func(t testing.TB) { Must(t, cause) }, true},
		"the error":       {func(t testing.TB) { WantIs(t, errors.Join(cause, other), cause, other) }, false},
		"another error":   {func(t testing.TB) { WantIs(t, cause, cause, other) }, true},
		"still pending":   {func(t testing.TB) { PendingStill(t, make(chan error)) }, false},
		"not any more":    {func(t testing.TB) { PendingStill(t, over) }, true},
		"it holds":        {func(t testing.TB) { Eventually(t, "it holds", func() bool { return true }) }, false},
		"does not start":  {func(t testing.TB) { broken.Get(t) }, true},
		"nor when it had": {func(t testing.TB) { broken.Get(t) }, true},
	} {
		if got := fails(tt.assert); got != tt.fails {
			t.Errorf("%s: fails %v; want %v", name, got, tt.fails)
		}
	}
	Must(t, broken.Close())
}

func TestPartsHaveEveryRuleOnce(t *testing.T) {
	var got []string
	for _, part := range CountsApart() {
		for _, r := range part.Rules {
			got = append(got, r.ID)
		}
	}
	var want []string
	for _, r := range conformance.Rules() {
		want = append(want, r.ID)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the parts have %v; want %v", got, want)
	}
}
