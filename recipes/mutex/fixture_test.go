package mutex_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/mutex"
)

const (
	namespace = "test"
	ttl       = 9 * time.Second
)

// world is a store with clients, in a bubble where time is virtual and
// synctest.Wait returns when everybody is blocked: "is blocked" is a fact in
// these tests and not a guess.
type world struct {
	*testing.T
	store *mem.Store
	ctx   context.Context
	plain bool
}

// bubble runs test in a world of its own, and then wants nothing left in it:
// once over a driver with every optional interface, and once over one that has
// none.
func bubble(t *testing.T, test func(w *world)) {
	t.Helper()
	for name, plain := range map[string]bool{"fast": false, "plain": true} {
		t.Run(name, func(t *testing.T) { bubbleOver(t, plain, test) })
	}
}

func bubbleOver(t *testing.T, plain bool, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t, mem.NewStore(), t.Context(), plain}
		t.Cleanup(func() {
			synctest.Wait()
			if s := w.store.Stats(); s != (mem.Stats{}) {
				t.Errorf("left in the store: %+v", s)
			}
		})
		test(w)
	})
}

// client is one process: it closes with the test.
type client struct {
	*coord.Client
	conn *mem.Conn
	w    *world
}

func (w *world) client() *client {
	w.Helper()
	conn := w.store.Open(namespace)
	var via driver.Conn = conn
	if w.plain {
		via = plainConn{conn}
	}
	c, err := coord.New(via, coord.Config{SessionTTL: coord.Duration(ttl)})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			w.Errorf("closing a client: %v", err)
		}
	})
	return &client{c, conn, w}
}

func (c *client) mutex(opts ...coord.RecipeOption) *mutex.Mutex {
	return mutex.New(c.Client, "m", opts...)
}

func (c *client) lock() *mutex.Held {
	c.w.Helper()
	held, err := c.mutex().Lock(c.w.ctx)
	if err != nil {
		c.w.Fatalf("Lock: %v", err)
	}
	return held
}

// attempt is a Lock under way.
type attempt struct {
	held *mutex.Held
	err  error
	at   time.Time
	over chan struct{}
	w    *world
}

// locking starts a Lock and returns when it is done or blocked.
func (c *client) locking(ctx context.Context) *attempt {
	a := &attempt{w: c.w, over: make(chan struct{})}
	go func() {
		defer close(a.over)
		a.held, a.err = c.mutex().Lock(ctx)
		a.at = time.Now()
	}()
	synctest.Wait()
	return a
}

func (a *attempt) done() bool {
	synctest.Wait()
	select {
	case <-a.over:
		return true
	default:
		return false
	}
}

func (a *attempt) blocked() {
	a.w.Helper()
	if a.done() {
		a.w.Fatalf("Lock returned %v, %v; want it blocked", a.held, a.err)
	}
}

func (a *attempt) granted() *mutex.Held {
	a.w.Helper()
	if !a.done() || a.err != nil {
		a.w.Fatalf("Lock: error %v; want a grant", a.err)
	}
	return a.held
}

func (a *attempt) failed(want error) {
	a.w.Helper()
	if !a.done() {
		a.w.Fatalf("Lock is blocked; want the error %v", want)
	}
	if !errors.Is(a.err, want) || a.held != nil {
		a.w.Fatalf("Lock: %v, error %v; want %v", a.held, a.err, want)
	}
}

func (w *world) unlock(h *mutex.Held) {
	w.Helper()
	if err := h.Unlock(w.ctx); err != nil {
		w.Fatalf("Unlock: %v", err)
	}
}

func (w *world) is(err, want error) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Fatalf("error %v; want %v", err, want)
	}
}

// nodes wants n entries in the lock's line.
func (w *world) nodes(n int) []driver.Node {
	w.Helper()
	synctest.Wait()
	conn := w.store.Open(namespace)
	defer conn.Close()
	nodes, err := conn.List(w.ctx, "mutex:m")
	if err != nil || len(nodes) != n {
		w.Fatalf("%d entries in the line, error %v; want %d", len(nodes), err, n)
	}
	return nodes
}

// lost wants a hold to have ended for the reason why.
func (w *world) lost(h *mutex.Held, why error) {
	w.Helper()
	synctest.Wait()
	select {
	case <-h.Done():
	default:
		w.Fatal("the hold's Done is open")
	}
	for _, err := range []error{h.Err(), context.Cause(h.Context())} {
		w.is(err, coord.ErrNotHeld)
		w.is(err, why)
	}
}

// plainConn hides the optional interfaces of its sessions.
type plainConn struct{ driver.Conn }

func (c plainConn) Caps() driver.Caps { return 0 }

func (c plainConn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := c.Conn.OpenSession(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return struct{ driver.Session }{s}, nil
}
