package rwlock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/rwlock"
)

const (
	namespace = "test"
	dir       = "rwlock:l"
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

func (c *client) locker(opts ...coord.RecipeOption) *rwlock.RWLock {
	return rwlock.New(c.Client, "l", opts...)
}

func (c *client) lock() *rwlock.WriteHeld {
	c.w.Helper()
	h, err := c.locker().Lock(c.w.ctx)
	if err != nil {
		c.w.Fatalf("Lock: %v", err)
	}
	return h
}

func (c *client) rlock() *rwlock.ReadHeld {
	c.w.Helper()
	h, err := c.locker().RLock(c.w.ctx)
	if err != nil {
		c.w.Fatalf("RLock: %v", err)
	}
	return h
}

// held is what ReadHeld and WriteHeld have in common.
type held interface {
	Context() context.Context
	Done() <-chan struct{}
	Err() error
	Token() uint64
	Unlock(context.Context) error
	Revoked(context.Context) (coord.Revocation, error)
}

// attempt is a call of RLock or Lock under way.
type attempt struct {
	r    *rwlock.ReadHeld
	w    *rwlock.WriteHeld
	err  error
	at   time.Time
	over chan struct{}
	in   *world
}

func (w *world) attempt(call func(*attempt)) *attempt {
	a := &attempt{in: w, over: make(chan struct{})}
	go func() {
		defer close(a.over)
		call(a)
		a.at = time.Now()
	}()
	synctest.Wait()
	return a
}

// reading starts an RLock and returns when it is done or blocked.
func (c *client) reading(ctx context.Context) *attempt {
	return c.w.attempt(func(a *attempt) { a.r, a.err = c.locker().RLock(ctx) })
}

// writing starts a Lock and returns when it is done or blocked.
func (c *client) writing(ctx context.Context) *attempt {
	return c.w.attempt(func(a *attempt) { a.w, a.err = c.locker().Lock(ctx) })
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

func blocked(attempts ...*attempt) {
	for _, a := range attempts {
		a.in.Helper()
		if a.done() {
			a.in.Fatalf("an attempt ended with %v, %v, %v; want it blocked", a.r, a.w, a.err)
		}
	}
}

func (a *attempt) granted() {
	a.in.Helper()
	if !a.done() {
		a.in.Fatal("an attempt is blocked; want a grant")
	}
	if a.err != nil {
		a.in.Fatalf("error %v; want a grant", a.err)
	}
}

func (a *attempt) wrote() *rwlock.WriteHeld {
	a.in.Helper()
	a.granted()
	return a.w
}

func (a *attempt) read() *rwlock.ReadHeld {
	a.in.Helper()
	a.granted()
	return a.r
}

func (a *attempt) failed(want error) {
	a.in.Helper()
	if !a.done() {
		a.in.Fatalf("an attempt is blocked; want the error %v", want)
	}
	if !errors.Is(a.err, want) || a.r != nil || a.w != nil {
		a.in.Fatalf("%v, %v, error %v; want %v", a.r, a.w, a.err, want)
	}
}

func (w *world) unlock(held ...held) {
	w.Helper()
	for _, h := range held {
		if err := h.Unlock(w.ctx); err != nil {
			w.Fatalf("Unlock: %v", err)
		}
	}
}

func (w *world) downgrade(h *rwlock.WriteHeld) *rwlock.ReadHeld {
	w.Helper()
	r, err := h.Downgrade(w.ctx)
	if err != nil {
		w.Fatalf("Downgrade: %v", err)
	}
	return r
}

func (w *world) is(err, want error) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Fatalf("error %v; want %v", err, want)
	}
}

// holds wants holds not to have ended.
func (w *world) holds(held ...held) {
	w.Helper()
	synctest.Wait()
	for _, h := range held {
		if h.Err() != nil || h.Context().Err() != nil {
			w.Fatalf("a hold has ended: %v", h.Err())
		}
	}
}

// lost wants a hold to have ended for the reason why.
func (w *world) lost(h held, why error) {
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

// nodes wants n entries in the lock's line.
func (w *world) nodes(n int) []driver.Node {
	w.Helper()
	synctest.Wait()
	nodes := w.line()
	if len(nodes) != n {
		w.Fatalf("%d entries in the line; want %d", len(nodes), n)
	}
	return nodes
}

func (w *world) line() []driver.Node {
	w.Helper()
	conn := w.store.Open(namespace)
	defer conn.Close()
	nodes, err := conn.List(w.ctx, dir)
	if err != nil {
		w.Fatal(err)
	}
	return nodes
}

// plainConn hides the optional interfaces of a connection and its sessions.
type plainConn struct{ driver.Conn }

func (c plainConn) Caps() driver.Caps { return 0 }

func (c plainConn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := c.Conn.OpenSession(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return struct{ driver.Session }{s}, nil
}
