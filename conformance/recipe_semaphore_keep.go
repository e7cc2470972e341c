package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// semKept wants a change to come back after harm to the notice of it, twice.
func semKept(t sem, harm func(notice driver.Node, maker *coord.Client)) {
	maker := t.Client()
	t.set(t.open(maker, name, 10), 2)
	for range 2 {
		old := t.notices(1)[0]
		harm(old, maker)
		t.back(old)
		t.limited(10, 2)
		t.fails(t.bid(t.ctx, "an acquire of more than the limit", t.want(t.Client(), 3, 10)), coord.ErrInvalid)
	}
	t.gone(maker)
	t.notices(0)
	t.limited(10, 10)
}

// back waits for another notice in the place of an old one.
func (t sem) back(old driver.Node) {
	t.Eventually(t.patience()+t.h.Expiry, func() error {
		if n := t.notices(1)[0]; n.Same(old) {
			return fmt.Errorf("the old notice, %s, is still there", old.Key)
		}
		return nil
	})
}

func semKeptOverExpiry(t sem) {
	semKept(t, func(_ driver.Node, maker *coord.Client) {
		s, err := maker.Session(t.ctx)
		if err != nil {
			t.Fatalf("Session: %v", err)
		}
		t.expire(s.Driver())
	})
}

func semKeptOverRemoval(t sem) {
	semKept(t, func(n driver.Node, _ *coord.Client) { t.removeNode(n) })
	if !t.Exact() {
		return
	}
	c := t.Client()
	t.set(t.open(c, name, 10), 2)
	for range 3 {
		t.sleep(time.Second) // or it is too soon to be put up again
		old, began := t.notices(1)[0], time.Now()
		t.removeNode(old)
		t.back(old)
		if d := time.Since(began); d > 500*time.Millisecond {
			t.Fatalf("a notice that was removed a second after it was put up is back after %v", d)
		}
	}
	began := time.Now()
	if t.gone(c); time.Since(began) > 500*time.Millisecond {
		t.Fatalf("Close of a client that keeps a limit takes %v", time.Since(began))
	}
}

func semKeptOverEmptying(t sem) {
	semKept(t, func(driver.Node, *coord.Client) { t.removeDir(t.dir()) })
}

// refusing opens a client of whose calls some are refused until the function returned is
// called. tried is how many were.
func (t *Trial) refusing(which func(*request) bool) (c *coord.Client, allow func(), tried func() int) {
	var allowed atomic.Bool
	var refused atomic.Int64
	c = t.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		if allowed.Load() || !which(c) {
			return next(ctx)
		}
		if refused.Add(1) > 100 {
			t.decide(Failed, "a client makes call after call that the store refuses, and does not pause")
			t.cancel()
			return ctx.Err()
		}
		return &driver.Error{Op: c.op, Kind: driver.ErrDenied, Err: errOnPurpose}
	})
	return c, func() { allowed.Store(true) }, func() int { return int(refused.Load()) }
}

// semConfirmedLate: the store does not let a notice say that it stands, so the change before
// it is kept, too.
func semConfirmedLate(t sem) {
	a := t.Client()
	b, allow, tried := t.refusing(func(c *request) bool { return c.op == "Update" })
	t.set(t.open(a, name, 3), 6)
	t.notices(1)
	began := time.Now()
	t.set(t.open(b, name, 3), 2)
	t.Eventually(t.patience(), func() error {
		if n := tried(); n < 2 {
			return fmt.Errorf("after %d attempts to say that a change stands the client does not try again", n)
		}
		return nil
	})
	if d := time.Since(began); d < 500*time.Millisecond {
		t.Fatalf("what the store has refused is asked for again after %v", d)
	}
	t.notices(2)
	t.limited(3, 2)
	allow()
	t.notices(1)
	t.limited(3, 2)
	t.gone(b)
	t.notices(0)
	t.limited(3, 3)
}

// semCannotFollow: the store does not let the client of an earlier change see the later one.
func semCannotFollow(t sem) {
	var updates atomic.Int64
	a, allow, _ := t.refusing(func(c *request) bool {
		if c.op == "Update" {
			updates.Add(1)
		}
		return c.op == "Watch" || c.op == "Conn.List"
	})
	t.set(t.open(a, name, 10), 6)
	earlier := t.notices(1)[0]
	t.set(t.open(t.Client(), name, 10), 2)
	for range 2 {
		for _, n := range t.notices(2) {
			if !n.Same(earlier) {
				t.removeNode(n)
				t.Eventually(t.patience(), t.absent(n))
			}
		}
		t.notices(2)
		t.limited(10, 2)
		t.Sees(earlier)
	}
	if n := updates.Load(); n != 1 {
		t.Fatalf("the notice of a change was written %d times more; want 1", n)
	}
	allow()
	t.notices(1)
	t.limited(10, 2)
}

// semChangeOnSession: a change that was made with a session of its own ends with that.
func semChangeOnSession(t sem) {
	var made atomic.Int64
	c := t.tapped(func(ctx context.Context, c *request, next func(context.Context) error) error {
		if c.op == "Create" || c.op == "CreateList" {
			made.Add(1)
		}
		return next(ctx)
	})
	shared := t.open(c, name, 9)
	if shared.On == nil {
		t.NotVerified("the recipe was made with options of its own")
	}
	s := t.ownSession(c)
	t.set(shared, 2)
	t.set(shared.On(s), 2)
	of := func() (own driver.Node) {
		for _, n := range t.notices(2) {
			if n.Session == s.ID() {
				own = n
			}
		}
		return own
	}
	old := of()
	if old.Key == "" {
		t.Fatalf("a change that was made with a session of its own is not bound to it")
	}
	t.removeNode(old)
	t.Eventually(t.patience(), func() error {
		if n := of(); n.Key == "" || n.Same(old) {
			return errors.New("the change that was made with a session of its own is not there again")
		}
		return nil
	})
	if err := s.Close(t.ctx); err != nil {
		t.Fatalf("Close of the session: %v", err)
	}
	t.notices(1)
	made.Store(0)
	t.Throughout(1200*time.Millisecond, func() error {
		if n := made.Load(); n > 0 {
			return fmt.Errorf("%d notices of a change are put up whose session was closed", n)
		}
		return nil
	})
	t.limited(9, 2)
}
