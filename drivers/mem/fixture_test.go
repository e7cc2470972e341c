package mem_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ttl       = 9 * time.Second
	namespace = "app/test"
	dir       = "mutex:a"
)

// world is a store in a bubble of virtual time, where a sleep takes no time and
// whatever can happen has happened before it ends.
type world struct {
	*testing.T
	store *mem.Store
	ctx   context.Context
}

// bubble runs f in a world of its own, and afterwards checks that nothing is
// left of what f did, a TTL after all connections are closed.
func bubble(t *testing.T, f func(w world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := world{t, mem.NewStore(), context.Background()}
		t.Cleanup(func() {
			sleep(ttl)
			if got := w.store.Stats(); got != (mem.Stats{}) {
				t.Errorf("left in the store: %+v", got)
			}
		})
		f(w)
	})
}

// conn opens a connection that is healed and closed at the end.
func (w world) conn() *mem.Conn {
	c := w.store.Open(namespace)
	w.Cleanup(func() {
		_ = c.Link().Heal()
		_ = c.Close()
	})
	return c
}

func (w world) session(c *mem.Conn) driver.Session {
	w.Helper()
	s, err := c.OpenSession(w.ctx, ttl)
	w.ok(err)
	return s
}

// client is a session on a connection of its own.
func (w world) client() (driver.Session, *mem.Link) {
	w.Helper()
	c := w.conn()
	return w.session(c), c.Link()
}

func (w world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w world) is(err error, want ...error) {
	w.Helper()
	for _, target := range want {
		if !errors.Is(err, target) {
			w.Fatalf("error is %v; want one that Is %q", err, target)
		}
	}
}

func (w world) create(s driver.Session, id string) driver.Node {
	w.Helper()
	n, err := s.Create(w.ctx, dir, id, []byte("data of "+id))
	w.ok(err)
	return n
}

// line returns what an observer sees in dir.
func (w world) line() []driver.Node {
	w.Helper()
	c := w.store.Open(namespace)
	defer c.Close()
	line, err := c.List(w.ctx, dir)
	w.ok(err)
	return line
}

// sees checks that an observer sees exactly these nodes, in this order.
func (w world) sees(want ...driver.Node) {
	w.Helper()
	line := w.line()
	same := len(line) == len(want)
	for i := 0; same && i < len(want); i++ {
		same = line[i].Same(want[i])
	}
	if !same {
		w.Fatalf("the line is %v; want %v", keys(line), keys(want))
	}
}

func keys(nodes []driver.Node) []string {
	list := make([]string, len(nodes))
	for i, n := range nodes {
		list[i] = n.Key
	}
	return list
}

// sleep lets d pass and what is due then happen.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// timeout is a ctx that ends after d.
func (w world) timeout(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(w.ctx, d)
	w.Cleanup(cancel)
	return ctx
}

// async runs f in a goroutine, and returns once that is stuck or has ended.
func async(f func() error) <-chan error {
	result := make(chan error, 1)
	go func() { result <- f() }()
	synctest.Wait()
	return result
}

// pending checks that what async runs has not ended.
func (w world) pending(result <-chan error) {
	w.Helper()
	synctest.Wait()
	select {
	case err := <-result:
		w.Fatalf("it ended with %v; want it to wait", err)
	default:
	}
}

// ended returns how what async runs has ended, without time passing.
func (w world) ended(result <-chan error) error {
	w.Helper()
	synctest.Wait()
	select {
	case err := <-result:
		return err
	default:
		w.Fatal("it waits; want it to have ended")
		return nil
	}
}

func done(s driver.Session) bool {
	select {
	case <-s.Done():
		return true
	default:
		return false
	}
}

// breaks are what ends the traffic of a link until it is healed.
var breaks = map[string]func(*mem.Link){
	"cut":         (*mem.Link).Cut,
	"frozen up":   func(l *mem.Link) { l.Freeze(mem.Up) },
	"frozen down": func(l *mem.Link) { l.Freeze(mem.Down) },
	"frozen":      func(l *mem.Link) { l.Freeze(mem.Both) },
	"blackhole":   func(l *mem.Link) { l.Blackhole(mem.Both) },
	"replies":     (*mem.Link).DropReplies,
}

// losses are ways to lose the next request of a kind once.
func losses(op mem.Op) map[string]func(*mem.Link) {
	return map[string]func(*mem.Link){
		"request": func(l *mem.Link) { l.LoseNextRequest(op) },
		"reply":   func(l *mem.Link) { l.DropNextReply(op) },
		"both":    func(l *mem.Link) { l.LoseNextRequest(op); l.DropNextReply(op) },
	}
}
