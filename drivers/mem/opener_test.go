package mem_test

import (
	"context"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

func (w world) open(o driver.Opener, name, namespace string) *mem.Conn {
	w.Helper()
	t := driver.Target{Scheme: "mem", Namespace: namespace}
	if name != "" {
		t.Hosts = []string{name}
	}
	c, err := o.Open(w.ctx, t)
	w.ok(err)
	conn, ok := driver.As[*mem.Conn](c)
	if !ok {
		w.Fatalf("Open returns a %T", c)
	}
	w.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestSchemeIsRegistered(t *testing.T) {
	o, err := driver.DefaultMux.Lookup("mem")
	if err != nil {
		t.Fatal(err)
	}
	if !o.Local || o.TLS || o.Password || o.Token || len(o.Params) != 0 || o.MinTTL != mem.MinTTL || o.MaxTTL != mem.MaxTTL {
		t.Errorf("the opener is %+v", o)
	}
}

func TestOneNameIsOneStore(t *testing.T) {
	bubble(t, func(w world) {
		o := mem.NewOpener()
		a, same, ns := w.open(o, "a", "x"), w.open(o, "a", "x"), w.open(o, "a", "y")
		other, unnamed, empty := w.open(o, "b", "x"), w.open(o, "", "x"), w.open(mem.NewOpener(), "a", "x")
		n := w.create(w.session(a), "0")
		for c, want := range map[*mem.Conn]int{a: 1, same: 1, ns: 0, other: 0, unnamed: 0, empty: 0} {
			line, err := c.List(w.ctx, dir)
			w.ok(err)
			if len(line) != want {
				t.Errorf("%v; want %d nodes", keys(line), want)
			}
		}
		if want := "x/mutex:a/" + n.Session + "-0"; n.Key != want {
			t.Errorf("the key is %q; want %q", n.Key, want)
		}
		if a.Store() != same.Store() || a.Store() == other.Store() {
			t.Error("the stores are not those of the names")
		}
	})
}

// O2: also where nothing remembers the store.
func TestTokensRiseOverALaterStoreOfTheSameName(t *testing.T) {
	bubble(t, func(w world) {
		o := mem.NewOpener()
		last := map[string]driver.Node{}
		stores := map[*mem.Store]bool{}
		for _, name := range []string{"a", "b", "a", "", "a", "b"} {
			c, second := w.open(o, name, "x"), w.open(o, name, "y")
			stores[c.Store()] = true
			s := w.session(c)
			for range 10 {
				n := w.create(s, "0")
				if n.Token <= last[name].Token {
					t.Errorf("token %d after %d", n.Token, last[name].Token)
				}
				last[name] = n
				w.ok(s.Delete(w.ctx, n))
			}
			w.ok(c.Close())
			third := w.open(o, name, "x")
			if third.Store() != second.Store() {
				t.Error("the store was dropped while a connection was open")
			}
			w.ok(second.Close())
			w.ok(third.Close())
		}
		if len(stores) != 6 {
			t.Errorf("%d stores; want a new one each time", len(stores))
		}
	})
}

// The last connection takes the store with it, also what an unreachable client
// has left.
func TestStoreIsDroppedWithItsLastConnection(t *testing.T) {
	bubble(t, func(w world) {
		o := mem.NewOpener()
		c := w.open(o, "a", "x")
		w.create(w.session(c), "0")
		first := c.Store()
		c.Link().Cut()
		w.ok(c.Close())
		if got := first.Stats(); got != (mem.Stats{}) {
			t.Errorf("left: %+v", got)
		}
		again := w.open(o, "a", "x")
		line, err := again.List(w.ctx, dir)
		w.ok(err)
		if again.Store() == first || len(line) != 0 {
			t.Errorf("the store is the old one, with %v", keys(line))
		}
	})
}

func TestOpenChecksItsTarget(t *testing.T) {
	bubble(t, func(w world) {
		o := mem.NewOpener()
		_, err := o.Open(w.ctx, driver.Target{Hosts: []string{"a", "b"}, Namespace: "x"})
		w.is(err, driver.ErrInvalid)
		ctx, cancel := context.WithCancel(w.ctx)
		cancel()
		_, err = o.Open(ctx, driver.Target{Namespace: "x"})
		w.is(err, context.Canceled)
	})
}
