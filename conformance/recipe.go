package conformance

import (
	"context"
	"fmt"
	"io"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// The rules of the recipes run on the driver under test: what a driver must
// give is what they need.

// name is the name of the recipes of a trial.
const name = "line"

// Client is a program of its own: a client on a connection that it shares with
// nobody.
func (t *Trial) Client() *coord.Client { return t.clientOn(t.Open()) }

// ClientOverLink is a program whose link can be broken. After the check the
// link is healed before the client is closed.
func (t *Trial) ClientOverLink() (*coord.Client, Link) {
	conn, l, err := t.h.OpenLink(t.ctx, t.namespace)
	if err != nil {
		t.Fatalf("opening a connection through a link: %v", err)
	}
	t.Cleanup(func() {
		if l, ok := l.(io.Closer); ok {
			_ = l.Close() // of no interest any more
		}
	})
	c := t.clientOn(conn)
	t.Cleanup(func() { t.heal(l) })
	return c, l
}

func (t *Trial) clientOn(conn driver.Conn) *coord.Client {
	c, err := coord.New(conn, coord.Config{SessionTTL: coord.Duration(t.h.TTL)})
	if err != nil {
		t.Fatalf("making a client: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), t.h.TTL)
		defer cancel()
		_ = c.Close(ctx) // what Close owes is M18's matter
	})
	return c
}

// lock acquires, and must.
func (t *Trial) lock(c *coord.Client) *mutex.Held {
	held, err := mutex.New(c, name).Lock(t.ctx)
	if err != nil {
		t.Fatalf("Lock: %v", err)
	}
	return held
}

func (t *Trial) unlock(h *mutex.Held) {
	if err := h.Unlock(t.ctx); err != nil {
		t.Fatalf("Unlock: %v", err)
	}
}

// attempt is a Lock under way.
type attempt struct {
	held *mutex.Held
	err  error
	over <-chan struct{}
}

// locking begins a Lock and returns when it stands in line as the one that
// makes it line entries long, holders included.
func (t *Trial) locking(ctx context.Context, c *coord.Client, line int) *attempt {
	a := t.begin(ctx, c)
	t.line(line)
	return a
}

// begin begins a Lock.
func (t *Trial) begin(ctx context.Context, c *coord.Client) *attempt {
	a := &attempt{}
	a.over = t.Go(func() { a.held, a.err = mutex.New(c, name).Lock(ctx) })
	return a
}

// granted waits for the Lock to succeed.
func (t *Trial) granted(a *attempt, what string) *mutex.Held {
	if !t.within(t.patience()+t.h.Expiry, a.over) {
		t.Fatalf("%s: Lock does not return", what)
	}
	if a.err != nil {
		t.Fatalf("%s: Lock: %v", what, a.err)
	}
	return a.held
}

// stillWaits wants a Lock not to have returned, which the look at the line that
// precedes it makes more than a guess.
func (t *Trial) stillWaits(a *attempt, what string) {
	if ended(a.over) {
		t.Fatalf("%s: Lock has returned %s; want it blocked", what, errorOf(a.err))
	}
}

// line waits until a third client sees the line to have n entries.
func (t *Trial) line(n int) (nodes []driver.Node) {
	lockDir, err := coord.Dir("mutex", name)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Eventually(t.patience(), func() error {
		if nodes = t.Nodes(lockDir); len(nodes) != n {
			return fmt.Errorf("the line has %d entries; want %d", len(nodes), n)
		}
		return nil
	})
	return nodes
}
