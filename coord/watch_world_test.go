package coord_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

const dir = "mutex:m"

// listOnly is a connection whose driver has no watch.
type listOnly struct{ driver.Conn }

func (l listOnly) Caps() driver.Caps { return l.Conn.Caps() &^ driver.CapWatch }

// watching runs test in virtual time on a client of mem, and on one whose driver
// has no watch. late is how late a change may be shown.
func watching(t *testing.T, test func(t *testing.T, w *watchWorld)) {
	for name, d := range map[string]struct {
		wrap func(driver.Conn) driver.Conn
		late time.Duration
	}{
		"watch": {func(c driver.Conn) driver.Conn { return c }, 0},
		"list":  {func(c driver.Conn) driver.Conn { return listOnly{c} }, 1250 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWatchWorld(t, d.wrap)
				w.late = d.late
				test(t, w)
			})
		})
	}
}

// watchWorld is a client that observes and another's session that acts.
type watchWorld struct {
	t     *testing.T
	store *mem.Store
	link  *mem.Link // of the client
	c     *coord.Client
	s     driver.Session
	late  time.Duration
}

func newWatchWorld(t *testing.T, wrap func(driver.Conn) driver.Conn) *watchWorld {
	store := mem.NewStore()
	conn, other := store.Open("test"), store.Open("test")
	c, err := coord.New(wrap(conn), coord.Config{SessionTTL: coord.Duration(ttl)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := other.OpenSession(t.Context(), ttl)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
		_ = other.Close()
		synctest.Wait()
		if s := store.Stats(); s != (mem.Stats{}) {
			t.Errorf("left in the store: %+v", s)
		}
	})
	return &watchWorld{t: t, store: store, link: conn.Link(), c: c, s: s}
}

func (w *watchWorld) create(id string) driver.Node {
	w.t.Helper()
	n, err := w.s.Create(w.t.Context(), dir, id, []byte(id))
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// settle lets everything happen that is due until a change is shown.
func (w *watchWorld) settle() {
	time.Sleep(w.late)
	synctest.Wait()
}

// watched is a range in a goroutine of its own.
type watched struct {
	t      *testing.T
	states []string // only while the others are stuck
	err    error
	done   chan struct{}
}

func (w *watchWorld) observe(ctx context.Context) *watched {
	o := &watched{t: w.t, done: make(chan struct{})}
	go func() {
		defer close(o.done)
		for nodes, err := range w.c.Watch(ctx, dir) {
			if err != nil {
				o.err = err
				return
			}
			o.states = append(o.states, state(nodes))
		}
	}()
	synctest.Wait()
	return o
}

func state(nodes []driver.Node) string {
	var parts []string
	for _, n := range nodes {
		parts = append(parts, n.ID+"="+string(n.Data))
	}
	return strings.Join(parts, " ")
}

// saw checks what was shown since the last call.
func (o *watched) saw(want ...string) {
	o.t.Helper()
	synctest.Wait()
	if !slices.Equal(o.states, want) {
		o.t.Fatalf("shown: %q; want %q", o.states, want)
	}
	o.states = nil
	select {
	case <-o.done:
		o.t.Fatalf("the watch has ended, with %v", o.err)
	default:
	}
}

// cameTo checks what was shown last since the last call.
func (o *watched) cameTo(want string) {
	o.t.Helper()
	synctest.Wait()
	if last := len(o.states) - 1; last < 0 || o.states[last] != want {
		o.t.Fatalf("shown: %q; want %q at last", o.states, want)
	}
	o.states = nil
}

// ended checks that the watch has ended without time passing.
func (o *watched) ended(want error) {
	o.t.Helper()
	synctest.Wait()
	select {
	case <-o.done:
		if !errors.Is(o.err, want) {
			o.t.Fatalf("the watch has ended with %v; want %v", o.err, want)
		}
	default:
		o.t.Fatal("the watch goes on")
	}
}
