package semaphore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

const (
	namespace = "test"
	dir       = "semaphore:s"
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

// semaphore is a value of its own, as another program has.
func (c *client) semaphore(permits int) *semaphore.Semaphore {
	return semaphore.New(c.Client, "s", permits)
}

// acquire gets n of the given number of permits, and must.
func (c *client) acquire(n, of int) *semaphore.Held {
	c.w.Helper()
	h, err := c.semaphore(of).Acquire(c.w.ctx, n)
	if err != nil {
		c.w.Fatalf("Acquire: %v", err)
	}
	return h
}

// attempt is an Acquire under way.
type attempt struct {
	h    *semaphore.Held
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

// acquiring starts an Acquire of n of the given number of permits and returns
// when it is done or blocked.
func (c *client) acquiring(ctx context.Context, n, of int) *attempt {
	s := c.semaphore(of)
	return c.w.attempt(func(a *attempt) { a.h, a.err = s.Acquire(ctx, n) })
}

// settle waits until everything has happened that can happen now: at once where
// the store tells of changes, and after a look where it does not.
func (w *world) settle() {
	synctest.Wait()
	if w.plain {
		time.Sleep(1300 * time.Millisecond)
		synctest.Wait()
	}
}

func (a *attempt) ended() bool {
	select {
	case <-a.over:
		return true
	default:
		return false
	}
}

func blocked(attempts ...*attempt) {
	attempts[0].in.Helper()
	attempts[0].in.settle()
	for _, a := range attempts {
		if a.ended() {
			a.in.Fatalf("an attempt ended with %v, %v; want it blocked", a.h, a.err)
		}
	}
}

func (a *attempt) granted() *semaphore.Held {
	a.in.Helper()
	a.in.settle()
	if !a.ended() {
		a.in.Fatal("an attempt is blocked; want a grant")
	}
	if a.err != nil {
		a.in.Fatalf("error %v; want a grant", a.err)
	}
	return a.h
}

func (a *attempt) failed(want error) {
	a.in.Helper()
	a.in.settle()
	if !a.ended() {
		a.in.Fatalf("an attempt is blocked; want the error %v", want)
	}
	if !errors.Is(a.err, want) || a.h != nil {
		a.in.Fatalf("%v, error %v; want %v", a.h, a.err, want)
	}
}

func (w *world) release(held ...*semaphore.Held) {
	w.Helper()
	for _, h := range held {
		if err := h.Release(w.ctx); err != nil {
			w.Fatalf("Release: %v", err)
		}
	}
}

func (w *world) is(err, want error) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Fatalf("error %v; want %v", err, want)
	}
}

// holds wants holds not to have ended.
func (w *world) holds(held ...*semaphore.Held) {
	w.Helper()
	synctest.Wait()
	for _, h := range held {
		if h.Err() != nil || h.Context().Err() != nil {
			w.Fatalf("a hold has ended: %v", h.Err())
		}
	}
}

// lost wants a hold to have ended for the reason why.
func (w *world) lost(h *semaphore.Held, why error) {
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

// entries wants n entries in the line, gates and notices not counted.
func (w *world) entries(n int) []driver.Node {
	w.Helper()
	w.settle()
	nodes := w.of("p")
	if len(nodes) != n {
		w.Fatalf("%d entries in the line; want %d", len(nodes), n)
	}
	return nodes
}

// of returns the nodes in the line whose ids begin with a kind.
func (w *world) of(kind string) (nodes []driver.Node) {
	w.Helper()
	for _, n := range w.line() {
		if strings.HasPrefix(n.ID, kind) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// uses wants a limit in force and a number of permits in use, as anybody sees
// them.
func (w *world) uses(c *client, limit, used int) {
	w.Helper()
	w.settle()
	if l, u, err := c.semaphore(1).Limit(w.ctx); err != nil || l != limit || u != used {
		w.Fatalf("%d of %d permits are in use, %v; want %d of %d", u, l, err, used, limit)
	}
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
