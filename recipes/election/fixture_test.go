package election_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/election"
)

const (
	namespace = "test"
	line      = "election:e"
	ttl       = 9 * time.Second
)

// world is a store with clients, in a bubble where time is virtual and
// synctest.Wait returns when everybody is blocked.
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
	return w.clientOn(conn, via)
}

func (w *world) clientOn(conn *mem.Conn, via driver.Conn) *client {
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

func (c *client) election(opts ...coord.RecipeOption) *election.Election {
	return election.New(c.Client, "e", opts...)
}

// elect campaigns where nobody is in the way.
func (c *client) elect(value string) *election.Leadership {
	c.w.Helper()
	return c.campaigning(c.w.ctx, value).elected()
}

// attempt is a Campaign under way.
type attempt struct {
	l    *election.Leadership
	err  error
	at   time.Time
	over chan struct{}
	w    *world
}

// campaigning starts a Campaign and returns when it is done or blocked.
func (c *client) campaigning(ctx context.Context, value string) *attempt {
	a := &attempt{w: c.w, over: make(chan struct{})}
	go func() {
		defer close(a.over)
		a.l, a.err = c.election().Campaign(ctx, []byte(value))
		a.at = time.Now()
	}()
	synctest.Wait()
	return a
}

func (a *attempt) blocked() {
	a.w.Helper()
	synctest.Wait()
	select {
	case <-a.over:
		a.w.Fatalf("Campaign returned %v, %v; want it blocked", a.l, a.err)
	default:
	}
}

// ended wants the Campaign to have returned.
func (a *attempt) ended() {
	a.w.Helper()
	synctest.Wait()
	select {
	case <-a.over:
	default:
		a.w.Fatal("Campaign is blocked")
	}
}

func (a *attempt) elected() *election.Leadership {
	a.w.Helper()
	a.ended()
	if a.err != nil {
		a.w.Fatalf("Campaign: %v", a.err)
	}
	return a.l
}

func (a *attempt) failed(want error) {
	a.w.Helper()
	a.ended()
	if !errors.Is(a.err, want) || a.l != nil {
		a.w.Fatalf("Campaign: %v, error %v; want %v", a.l, a.err, want)
	}
}

func (w *world) resign(l *election.Leadership) {
	w.Helper()
	w.ok(l.Resign(w.ctx))
}

func (w *world) proclaim(l *election.Leadership, value string) {
	w.Helper()
	w.ok(l.Proclaim(w.ctx, []byte(value)))
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) is(err error, want ...error) {
	w.Helper()
	for _, want := range want {
		if !errors.Is(err, want) {
			w.Fatalf("error %v; want %v", err, want)
		}
	}
}

// nodes wants n entries in the line.
func (w *world) nodes(n int) []driver.Node {
	w.Helper()
	synctest.Wait()
	conn := w.store.Open(namespace)
	defer conn.Close()
	nodes, err := conn.List(w.ctx, line)
	if err != nil || len(nodes) != n {
		w.Fatalf("%d entries in the line, error %v; want %d", len(nodes), err, n)
	}
	return nodes
}

// leader wants a third client to be shown a leader with this value.
func (w *world) leader(value string) coord.Contender {
	w.Helper()
	synctest.Wait()
	c, err := w.client().election().Leader(w.ctx)
	if err != nil || string(c.Value) != value {
		w.Fatalf("the leader shows as %q, %v; want %q", c.Value, err, value)
	}
	return c
}

// vacant wants a third client to be shown no leader.
func (w *world) vacant() {
	w.Helper()
	synctest.Wait()
	_, err := w.client().election().Leader(w.ctx)
	w.is(err, election.ErrNoLeader)
}

// lost wants a leadership to have ended for the reason why.
func (w *world) lost(l *election.Leadership, why error) {
	w.Helper()
	synctest.Wait()
	select {
	case <-l.Done():
	default:
		w.Fatal("the leadership's Done is open")
	}
	for _, err := range []error{l.Err(), context.Cause(l.Context()), l.Proclaim(w.ctx, nil)} {
		w.is(err, coord.ErrNotHeld, why)
	}
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
