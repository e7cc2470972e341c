package mem_test

import (
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// open connects to a named store.
func (w world) open(name, namespace string) *mem.Conn {
	w.Helper()
	o, err := driver.DefaultMux.Lookup("mem")
	w.ok(err)
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
		a, same, ns := w.open("a", "x"), w.open("a", "x"), w.open("a", "y")
		other, unnamed := w.open("b", "x"), w.open("", "x")
		n := w.create(w.session(a), "0")
		for c, want := range map[*mem.Conn]int{a: 1, same: 1, ns: 0, other: 0, unnamed: 0} {
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

// O2: also when the store had no connections in between.
func TestTokensRiseOverTheConnectionsOfAName(t *testing.T) {
	bubble(t, func(w world) {
		last := map[string]driver.Node{}
		for _, name := range []string{"a", "b", "a", "", "a", "b"} {
			c := w.open(name, "x")
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
		}
	})
}

// The last connection takes with it what is in the store, also what an
// unreachable client has left.
func TestStoreIsEmptyAfterItsLastConnection(t *testing.T) {
	bubble(t, func(w world) {
		c, second := w.open("a", "x"), w.open("a", "y")
		w.create(w.session(c), "0")
		c.Link().Cut()
		w.ok(c.Close())
		if got := c.Store().Stats(); got.Sessions != 1 || got.Nodes != 1 {
			t.Errorf("the store has %+v; want what cannot be told to it, while it has a connection", got)
		}
		w.ok(second.Close())
		if got := c.Store().Stats(); got != (mem.Stats{}) {
			t.Errorf("left: %+v", got)
		}
		line, err := w.open("a", "x").List(w.ctx, dir)
		w.ok(err)
		if len(line) != 0 {
			t.Errorf("the store has %v", keys(line))
		}
	})
}
