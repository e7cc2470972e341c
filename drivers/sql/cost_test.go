package sql

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
)

// counter counts the messages to a database.
type counter struct {
	runner
	n atomic.Int64
}

func (c *counter) run(ctx context.Context, o attempt.Op, s script) (answer, error) {
	c.n.Add(1)
	return c.runner.run(ctx, o, s)
}

// Nobody is to add a message to a call unnoticed. The package comment has the same numbers.
func TestCosts(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		c := d.open(t)
		n := &counter{runner: c.db}
		c.db = n
		wants := func(what string, want int64, call func() error) {
			t.Helper()
			before := n.n.Load()
			must(t, call())
			if got := n.n.Load() - before; got != want {
				t.Errorf("%s cost %d messages; want %d", what, got, want)
			}
		}
		var s driver.Session
		var node driver.Node
		wants("to open a session", 1, func() (err error) {
			s, err = c.OpenSession(within(t), time.Hour) // that is not renewed
			return err
		})
		wants("to create", 1, func() (err error) {
			node, err = s.Create(within(t), "d", "0", nil)
			return err
		})
		wants("to create and list", 1, func() (err error) {
			node, _, err = s.(driver.CreateLister).CreateList(within(t), "d", "0", nil)
			return err
		})
		wants("to list", 1, func() error { _, err := s.List(within(t), "d"); return err })
		wants("to list names", 1, func() error {
			_, err := s.(driver.NameLister).ListNames(within(t), "d", node.Seq)
			return err
		})
		wants("an observer's list", 1, func() error { _, err := c.List(within(t), "d"); return err })
		wants("to update", 1, func() error { _, err := s.Update(within(t), node, nil); return err })
		wants("to delete", 1, func() error { return s.Delete(within(t), node) })
		wants("to abandon", 1, func() error { return s.Abandon(within(t), "d", "0") })
		wants("to close", 1, func() error { return s.Close(within(t)) })
	})
}

// A thousand waits of a client that nothing happens to cost ten messages a second.
func TestIdleWaits(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		c := d.open(t)
		n := &counter{runner: c.db}
		c.db = n
		s, err := c.OpenSession(within(t), time.Hour)
		must(t, err)
		ahead := create(t, s, "d", "0")
		ctx, cancel := context.WithCancel(t.Context())
		var waits sync.WaitGroup
		for range 1000 {
			waits.Go(func() { _ = s.WaitDelete(ctx, ahead) })
		}
		eventually(t, "the waits have become quiet", func() bool {
			before := n.n.Load()
			time.Sleep(200 * time.Millisecond) // a sample, and not a wait for something
			return n.n.Load()-before <= 3
		})
		before, start := n.n.Load(), time.Now()
		<-time.After(2 * time.Second)
		got, took := n.n.Load()-before, time.Since(start)
		t.Logf("%.1f messages a second for 1000 waits", float64(got)/took.Seconds())
		if most := int64(took.Seconds()*10) + 2; got > most {
			t.Errorf("%d messages in %v; want at most %d", got, took, most)
		}
		cancel()
		waits.Wait()
		must(t, s.Close(within(t)))
	})
}
