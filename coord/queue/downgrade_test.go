package queue_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/drivers/mem"
)

// However often an entry is downgraded, it stands where the first did and has its
// token.
func TestDowngradeKeepsThePlace(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		e, h := a.acquire(queue.Request{})
		first, place := h, e.Node().Seq
		next := w.begin(func() error { _, err := b.Acquire(w.Ctx, queue.Request{}); return err })
		for range 3 {
			var err error
			e, h, err = e.Downgrade(w.Ctx, h, queue.Request{Kind: "d"})
			w.Is(err, nil)
			if _, over := next(); over {
				t.Fatal("two hold")
			}
			if h.Token() != first.Token() || queue.InPlaceOf(e.Node()) != place || len(w.Line()) != 2 {
				t.Fatalf("token %d and place %d; want %d and %d", h.Token(), queue.InPlaceOf(e.Node()), first.Token(), place)
			}
		}
		w.Is(first.Err(), coord.ErrReleased)
		c, err := a.Contenders(w.Ctx, nil)
		w.Is(err, nil)
		if len(c.Holders) != 1 || c.Holders[0].Token != first.Token() {
			t.Errorf("%+v", c)
		}
		w.Is(e.Release(w.Ctx, h), nil)
		if err, over := next(); !over || err != nil {
			t.Fatalf("%v, %v", err, over)
		}
	})
}

func TestDowngradeIsRefused(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		e, h := a.acquire(queue.Request{})
		other, err := e.Hold(h.Context())
		w.Is(err, nil)
		_, _, err = e.Downgrade(w.Ctx, h, queue.Request{Kind: "d"})
		w.Is(err, coord.ErrInvalid)
		w.Is(e.Release(w.Ctx, other), nil)
		_, _, err = e.Downgrade(w.Ctx, other, queue.Request{Kind: "d"})
		w.Is(err, coord.ErrReleased)
		if h.Err() != nil || len(w.Line()) != 1 {
			t.Errorf("%v, and %d entries", h.Err(), len(w.Line()))
		}
		w.Is(e.Release(w.Ctx, h), nil)
		_, _, err = e.Downgrade(w.Ctx, h, queue.Request{Kind: "d"})
		w.Is(err, coord.ErrNotHeld)
	})
}

// What happens to the old entry while the new one is made: it is released,
// entered again, or given up by the caller. Nothing is left of the new one.
func TestDowngradeOvertaken(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(w *world, e *queue.Entry, h *coord.Hold, cancel func())
		why       error
		left      int
	}{
		"released": {func(w *world, e *queue.Entry, h *coord.Hold, _ func()) { w.Is(e.Release(w.Ctx, h), nil) }, coord.ErrReleased, 0},
		"entered": {func(w *world, e *queue.Entry, h *coord.Hold, _ func()) {
			_, err := e.Hold(h.Context())
			w.Is(err, nil)
		}, coord.ErrInvalid, 1},
		"cancelled": {func(_ *world, _ *queue.Entry, _ *coord.Hold, cancel func()) { cancel() }, context.Canceled, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a := w.client()
				e, h := a.acquire(queue.Request{})
				late := a.Link().Hold(mem.OpCreate)
				ctx, cancel := context.WithCancel(w.Ctx)
				defer cancel()
				downgrade := w.begin(func() error { _, _, err := e.Downgrade(ctx, h, queue.Request{Kind: "d"}); return err })
				<-late.Caught()
				c.meanwhile(w, e, h, cancel)
				if _, over := downgrade(); over != (name == "cancelled") {
					t.Fatalf("it has ended: %v", over)
				}
				late.Release()
				err, over := downgrade()
				if !over {
					t.Fatal("it has not ended")
				}
				w.Is(err, c.why)
				if n := len(w.Line()); n != c.left {
					t.Errorf("%d entries; want %d", n, c.left)
				}
				if c.left == 1 && h.Err() != nil {
					t.Errorf("the hold has ended: %v", h.Err())
				}
			})
		})
	}
}

// An entry that is downgraded while it is entered again is not what is entered: that is what
// stands in for it, or nothing, if it may not be.
func TestReenterWhatIsBeingDowngraded(t *testing.T) {
	for name, no := range map[string]error{"entered": nil, "refused": errors.New("no")} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				a := w.client()
				e, h := a.acquire(queue.Request{Kind: "w"})
				var standIn *queue.Entry
				var asked []string
				got, again, err := a.Reenter(context.WithoutCancel(h.Context()), func(of *queue.Entry) (err error) {
					asked = append(asked, queue.Kind(of.Node()))
					if of == e {
						standIn, h, err = e.Downgrade(w.Ctx, h, queue.Request{Kind: "d"})
						return err
					}
					return no
				})
				if !slices.Equal(asked, []string{"w", "d"}) {
					t.Errorf("it was asked about %v; want both", asked)
				}
				if no != nil {
					w.Is(err, no)
				} else if w.Is(err, nil); got != standIn || again.Token() != h.Token() {
					t.Errorf("entered %v with token %d; want %v, %d", got.Node(), again.Token(), standIn.Node(), h.Token())
				} else {
					w.Is(got.Release(w.Ctx, again), nil)
				}
				w.Is(standIn.Release(w.Ctx, h), nil)
				w.Nodes(0)
			})
		})
	}
}
