package mem_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// observation is a watch that a goroutine ranges over.
type observation struct {
	world
	states chan string // has room for all that a test makes
	result <-chan error
}

// observing starts a watch.
func (w world) observing(ctx context.Context, c *mem.Conn) *observation {
	o := &observation{world: w, states: make(chan string, 100)}
	o.result = async(func() error {
		for nodes, err := range c.Watch(ctx, dir) {
			if err != nil {
				if nodes != nil {
					w.Errorf("nodes %v together with %v", nodes, err)
				}
				return err
			}
			o.states <- shown(nodes)
		}
		return nil
	})
	return o
}

// shown is a state in short: the ids with their data, in order.
func shown(nodes []driver.Node) string {
	var parts []string
	for _, n := range nodes {
		parts = append(parts, n.ID+"="+string(n.Data))
	}
	return strings.Join(parts, " ")
}

// shows checks that exactly these states were shown since the last call.
func (o *observation) shows(want ...string) {
	o.Helper()
	synctest.Wait()
	var got []string
	for len(o.states) > 0 {
		got = append(got, <-o.states)
	}
	if !slices.Equal(got, want) {
		o.Fatalf("shown: %q; want %q", got, want)
	}
	o.pending(o.result)
}

// V1
func TestWatchShowsEveryChange(t *testing.T) {
	bubble(t, func(w world) {
		owner, _ := w.client()
		other, _ := w.client()
		first := w.create(owner, "0")
		o := w.observing(w.timeout(time.Hour), w.conn())
		o.shows("0=data of 0")
		w.create(owner, "1")
		o.shows("0=data of 0 1=data of 1")
		first, err := owner.Update(w.ctx, first, []byte("new"))
		w.ok(err)
		o.shows("0=new 1=data of 1")
		w.ok(owner.Delete(w.ctx, first))
		o.shows("1=data of 1")
		w.create(other, "9")
		o.shows("1=data of 1 9=data of 9")
		w.ok(other.Abandon(w.ctx, dir, "9"))
		o.shows("1=data of 1")
		w.create(other, "8")
		o.shows("1=data of 1 8=data of 8")
		w.store.Expire(other.ID())
		o.shows("1=data of 1")
		w.store.RemoveDir(namespace, dir)
		o.shows("")
		w.create(owner, "2")
		o.shows("2=data of 2")
		w.ok(owner.Close(w.ctx))
		o.shows("")
	})
}

// V1: what is no change of the directory is not shown.
func TestWatchShowsNothingElse(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		c := w.conn()
		o := w.observing(w.timeout(time.Hour), c)
		o.shows("") // there is no directory, and watching makes none
		if got := w.store.Stats().Dirs; got != 0 {
			t.Errorf("%d directories", got)
		}
		w.store.PutForeign(namespace, dir, "foreign")
		_, err := s.Create(w.ctx, "mutex:b", "0", nil)
		w.ok(err)
		o.shows()
		link.DropConnections()
		c.Link().DropConnections()
		sleep(ttl)
		o.shows()
		w.store.Remove(namespace, dir, "foreign")
		o.shows()
	})
}

// The consumer is busy: the state that lasts is shown, and not the others.
func TestWatchOfABusyConsumer(t *testing.T) {
	bubble(t, func(w world) {
		s, _ := w.client()
		n := 0
		for nodes, err := range w.conn().Watch(w.ctx, dir) {
			w.ok(err)
			if n++; n == 2 {
				if got := shown(nodes); got != "9=data of 9" {
					t.Errorf("shown: %q", got)
				}
				break
			}
			for i := range 10 {
				w.store.RemoveDir(namespace, dir)
				w.create(s, fmt.Sprint(i))
			}
		}
		if got := w.store.Stats().Watches; got != 0 {
			t.Errorf("%d watches are left", got)
		}
	})
}
