package coord_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
)

// asked are the ways in which a hold's context may be used before the hold ends. None
// may make a difference to what is seen of the end.
var asked = map[string]func(context.Context) context.Context{
	"nothing": func(ctx context.Context) context.Context { return ctx },
	"Err":     func(ctx context.Context) context.Context { _ = ctx.Err(); return ctx },
	"Done":    func(ctx context.Context) context.Context { ctx.Done(); return ctx },
	"cause":   func(ctx context.Context) context.Context { _ = context.Cause(ctx); return ctx },
	"a value": func(ctx context.Context) context.Context { ctx.Value("any"); return ctx },
	"a context below": func(ctx context.Context) context.Context {
		below, cancel := context.WithCancel(ctx)
		context.AfterFunc(below, cancel)
		return below
	},
	"a value below": func(ctx context.Context) context.Context { return context.WithValue(ctx, userKey{}, "x") },
}

type userKey struct{}

type recipeKey struct{}

func TestContextOfAHoldThatEnds(t *testing.T) {
	ways := map[string]struct {
		end  func(*coord.Hold, *coord.Session)
		want error
	}{
		"released": {func(h *coord.Hold, _ *coord.Session) { h.End(nil) }, coord.ErrReleased},
		"lost":     {func(h *coord.Hold, _ *coord.Session) { h.End(coord.ErrRemoved) }, coord.ErrRemoved},
		"session closed": {func(_ *coord.Hold, s *coord.Session) {
			if err := s.Close(context.Background()); err != nil {
				panic(err)
			}
		}, coord.ErrClosed},
	}
	for before, ask := range asked {
		for way, w := range ways {
			t.Run(before+"/"+way, func(t *testing.T) {
				s := openSession(t)
				bounded, cancel := context.WithCancel(context.WithValue(t.Context(), userKey{}, "outer"))
				h := coord.NewHold(bounded, "thing", s, 1, nil, nil)
				cancel() // bounds the acquire alone
				ctx := ask(h.Context())
				if err := errors.Join(h.Err(), ctx.Err(), context.Cause(ctx)); err != nil {
					t.Fatalf("before the end: %v", err)
				}
				w.end(h, s)
				h.End(errors.New("later")) // does not count
				if ctx.Err() != context.Canceled {
					t.Errorf("its Err is %v; want %v", ctx.Err(), context.Canceled)
				}
				select {
				case <-ctx.Done():
				default:
					t.Error("its Done is not closed")
				}
				h.End(errors.New("later still"))
				_ = s.Close(context.Background())
				for what, err := range map[string]error{"Err": h.Err(), "the context's cause": context.Cause(ctx), "the cause of one made later": causeBelow(h)} {
					if !errors.Is(err, w.want) || !errors.Is(err, coord.ErrNotHeld) {
						t.Errorf("%s is %v; want it to be %v", what, err, w.want)
					}
				}
			})
		}
	}
}

func causeBelow(h *coord.Hold) error {
	below, cancel := context.WithCancel(h.Context())
	defer cancel()
	return context.Cause(below)
}

// Values come from the ctx of the acquire, but for the recipe's own.
func TestValuesOfAHold(t *testing.T) {
	h := coord.NewHold(context.WithValue(t.Context(), userKey{}, "outer"), "thing", openSession(t), 1, recipeKey{}, "own")
	for range 2 { // before and after it is waited for
		ctx := h.Context()
		if ctx.Value(userKey{}) != "outer" || ctx.Value(recipeKey{}) != "own" || ctx.Value("none") != nil {
			t.Errorf("its values are %v, %v and %v", ctx.Value(userKey{}), ctx.Value(recipeKey{}), ctx.Value("none"))
		}
		if _, any := ctx.Deadline(); any {
			t.Error("it has a deadline")
		}
		ctx.Done()
	}
}

// A hold that is released and whose session ends at the same time has one end, whoever
// asks, and when.
func TestHoldHasOneEnd(t *testing.T) {
	const askers = 4
	for range 3000 {
		s := openSession(t)
		h := coord.NewHold(t.Context(), "thing", s, 1, nil, nil)
		var all sync.WaitGroup
		heard := make([][]error, askers)
		for i := range heard {
			all.Go(func() {
				for len(heard[i]) < 3 {
					err := h.Err()
					if i%2 == 1 && h.Context().Err() != nil {
						err = context.Cause(h.Context())
					}
					if err != nil {
						heard[i] = append(heard[i], err)
					}
				}
			})
		}
		all.Go(func() { h.End(nil) })
		all.Go(func() { _ = s.Close(context.Background()) })
		all.Wait()
		released := errors.Is(h.Err(), coord.ErrReleased)
		for _, errs := range heard {
			for _, err := range errs {
				if errors.Is(err, coord.ErrReleased) != released {
					t.Fatalf("somebody heard %q, and then it is %q", err, h.Err())
				}
			}
		}
	}
}

// A hold and its context can be printed, as loggers do, while somebody waits for the end,
// and ends it.
func TestHoldIsPrinted(t *testing.T) {
	for range 100 {
		h := coord.NewHold(t.Context(), `mutex "m"`, openSession(t), 7, nil, nil)
		below := context.WithValue(h.Context(), userKey{}, "x")
		var all sync.WaitGroup
		all.Go(func() { <-h.Done() })
		all.Go(func() { h.End(nil) })
		for what, want := range map[any]string{h: `mutex "m" (token 7)`, h.Context(): "coord.Hold", below: "coord.Hold.WithValue(coord_test.userKey, x)"} {
			all.Go(func() {
				for range 10 {
					if got := fmt.Sprintf("%v, %+v", what, what); got != want+", "+want {
						t.Errorf("printed as %s; want %s", got, want)
					}
				}
			})
		}
		all.Wait()
	}
}

// openSession opens a session of a store of its own.
func openSession(t *testing.T) *coord.Session {
	t.Helper()
	c, err := coord.New(mem.NewStore().Open("hold"), coord.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	s, err := c.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}
