package mutex_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/recipetest"
	"github.com/coordkit/coordkit/recipes/mutex"
)

func TestFirstComeFirstServed(t *testing.T) {
	bubble(t, func(w *world) {
		clients := []*client{w.client(), w.client(), w.client()}
		first := clients[0].lock()
		var line []*attempt
		for i := range 9 { // some wait for an entry of their own process, some for another's
			line = append(line, clients[i%4%3].locking(w.Ctx))
		}
		w.Nodes(10)
		token := first.Token()
		w.unlock(first)
		for i, a := range line {
			held := a.Granted()
			if held.Token() <= token {
				t.Errorf("grant %d has token %d after %d", i, held.Token(), token)
			}
			token = held.Token()
			if i+1 < len(line) {
				blocked(line[i+1])
			}
			w.unlock(held)
		}
		w.Nodes(0)
	})
}

func TestTokensRiseOverAnEmptyLine(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client()
		var last uint64
		for range 5 {
			held := c.lock()
			if held.Token() <= last {
				t.Fatalf("token %d after %d", held.Token(), last)
			}
			last = held.Token()
			w.unlock(held)
			w.RemoveDir()
		}
	})
}

func TestWaiterThatGivesUpLeavesNothing(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, c := w.client(), w.client(), w.client()
		first := a.lock()
		ctx, cancel := context.WithCancelCause(w.Ctx)
		second := b.locking(ctx)
		third := c.locking(w.Ctx)
		cancel(errors.New("bored"))
		second.Failed(context.Canceled)
		w.Says(second.Err, "bored")
		w.Nodes(2)
		blocked(third) // it has a new one ahead, and that one holds
		w.unlock(first)
		w.unlock(third.Granted())
	})
}

func TestDeadlineEndsTheWaitAndNotTheHold(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		ctx, cancel := context.WithTimeout(context.WithValue(w.Ctx, key{}, "v"), ttl)
		defer cancel()
		held, err := a.mutex().Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if v := held.Context().Value(key{}); v != "v" {
			t.Errorf("the hold's context has lost a value: %v", v)
		}
		if _, ok := held.Context().Deadline(); ok {
			t.Error("the hold's context has the deadline of the acquire")
		}
		second := b.locking(ctx)
		<-ctx.Done()
		second.Failed(context.DeadlineExceeded)
		if held.Err() != nil {
			t.Errorf("the hold ended with the ctx it was acquired under: %v", held.Err())
		}
		w.unlock(held)
	})
}

type key struct{}

func TestTryLock(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		held, err := a.mutex().TryLock(w.Ctx)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			got, err := b.mutex().TryLock(w.Ctx)
			w.Is(err, coord.ErrBusy)
			if got != nil {
				t.Error("TryLock returned a hold beside its error")
			}
			w.Nodes(1)
		}
		w.unlock(held)
		held, err = b.mutex().TryLock(w.Ctx)
		if err != nil {
			t.Fatal(err)
		}
		w.unlock(held)
	})
}

// Somebody joins between TryLock's look and its own joining.
func TestTryLockOvertakenLeavesNothing(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		w.Is(nil, nil)
		if _, err := b.Session(w.Ctx); err != nil {
			t.Fatal(err)
		}
		late := b.Link().Hold("create")
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, err = b.mutex().TryLock(w.Ctx)
		}()
		<-late.Caught()
		held := a.lock()
		late.Release()
		<-done
		w.Is(err, coord.ErrBusy)
		w.Nodes(1)
		w.unlock(held)
	})
}

func TestContendersSayWhoTheyAre(t *testing.T) {
	bubble(t, func(w *world) {
		conn := w.Store.Open(recipetest.Namespace)
		named, err := coord.New(conn, coord.Config{Owner: coord.Owner{Name: "billing", Labels: map[string]string{"zone": "b"}}})
		if err != nil {
			t.Fatal(err)
		}
		defer named.Close(context.Background())
		held, err := mutex.New(named, "m").Lock(w.Ctx)
		if err != nil {
			t.Fatal(err)
		}
		other := w.client()
		waiting := other.locking(w.Ctx)
		w.Store.PutForeign(recipetest.Namespace, "mutex:m", "somebody-elses")

		c, err := w.client().mutex().Contenders(w.Ctx)
		if err != nil || len(c.Holders) != 1 || len(c.Waiters) != 1 {
			t.Fatalf("%+v, %v; want a holder and a waiter", c, err)
		}
		h := c.Holders[0]
		if h.Owner.Name != "billing" || h.Owner.Labels["zone"] != "b" || h.Owner.PID == 0 || h.Token != held.Token() ||
			h.Session != held.Session().ID() || h.Since.IsZero() || h.Key == "" {
			t.Errorf("the holder shows as %+v", h)
		}
		if got := c.Waiters[0].Owner.PID; got != other.Owner().PID {
			t.Errorf("the waiter shows with pid %d", got)
		}
		w.unlock(held)
		w.unlock(waiting.Granted())
		w.RemoveDir()
	})
}

func TestInvalidNameShowsInEveryCall(t *testing.T) {
	bubble(t, func(w *world) {
		for _, name := range []string{"", strings.Repeat("x", 256)} {
			m := mutex.New(w.client().Client, name)
			_, err1 := m.Lock(w.Ctx)
			_, err2 := m.TryLock(w.Ctx)
			_, err3 := m.Contenders(w.Ctx)
			err4 := m.Do(w.Ctx, func(context.Context, uint64) error { panic("called") })
			for _, err := range []error{err1, err2, err3, err4} {
				w.Is(err, coord.ErrInvalid)
			}
		}
	})
}

func TestDifferentNamesAreDifferentLocks(t *testing.T) {
	bubble(t, func(w *world) {
		c := w.client()
		for _, name := range []string{"a", "a/b", "a%2Fb", "a/", ".", "..", "A", "å", "\x00", strings.Repeat("x", 255)} {
			held, err := mutex.New(c.Client, name).TryLock(w.Ctx)
			if err != nil {
				t.Fatalf("%q: %v", name, err)
			}
			defer held.Unlock(w.Ctx)
		}
	})
}

// Neither a waiter of the same process nor the release costs more than they
// must: one request to join, one to leave, none to hand over.
func TestRoundTrips(t *testing.T) {
	bubbleOver(t, false, func(w *world) {
		var n recipetest.Counter
		a, other := &client{w.Counted(&n), w}, w.client()
		held := a.lock()
		n.Want(t, "acquire free", recipetest.Counts{Sessions: 1, Requests: 1})
		w.unlock(held)
		n.Want(t, "release", recipetest.Counts{Requests: 1})

		for _, holder := range []*client{a, other} {
			held := holder.lock()
			n.Next()
			next := a.locking(w.Ctx)
			n.Want(t, "joining the line", recipetest.Counts{Requests: 1})
			w.unlock(held)
			held = next.Granted()
			if holder == a {
				n.Want(t, "release and handoff in one process", recipetest.Counts{Requests: 1})
			} else {
				n.Want(t, "handoff from the head of the line", recipetest.Counts{Wakes: 1})
			}
			w.unlock(held)
		}
	})
}

func TestSessionOfAnotherClientIsRefused(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		s, err := b.Session(w.Ctx)
		if err != nil {
			t.Fatal(err)
		}
		for s, want := range map[*coord.Session]string{s: "another client", nil: "nil"} {
			m := a.mutex(coord.WithSession(s))
			_, err := m.Lock(w.Ctx)
			w.Is(err, coord.ErrInvalid)
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want %q in it", err, want)
			}
			_, err = m.TryLock(w.Ctx)
			w.Is(err, coord.ErrInvalid)
			w.Is(m.Revoke(w.Ctx, 1, ""), coord.ErrInvalid)
			_, err = m.Contenders(w.Ctx)
			w.Is(err, coord.ErrInvalid)
		}
	})
}
