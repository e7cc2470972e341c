// Package recipetest is what the tests of the recipes, and of the queue below
// them, have in common: a store with clients in virtual time, calls that may
// have to wait, requests counted, and random schedules judged by a model.
//
// It is for tests only. A test of a recipe embeds the [World] and the [Process] in
// types of its own, which add what the recipe does.
package recipetest

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
)

const (
	// Namespace is where the clients of a world are.
	Namespace = "test"
	// TTL is that of their sessions.
	TTL = 9 * time.Second
)

// World is a store with clients, in a bubble where time is virtual and
// synctest.Wait returns when everybody is blocked: "is blocked" is a fact in
// these tests and not a guess.
type World struct {
	*testing.T
	Store *mem.Store
	Ctx   context.Context // the test's
	Plain bool            // clients have none of the driver's optional interfaces
	Dir   string          // of the line under test

	// Lag is how long after a change those who look at the line now and then,
	// for want of a watch, have seen it. Zero: nobody does.
	Lag time.Duration
}

// Bubble runs test in a world of its own, and then wants nothing left in it:
// once over a driver with every optional interface, and once over one that has
// none.
func Bubble(t *testing.T, dir string, test func(*World)) {
	t.Helper()
	for name, plain := range map[string]bool{"fast": false, "plain": true} {
		t.Run(name, func(t *testing.T) { BubbleOver(t, dir, plain, test) })
	}
}

// BubbleOver is one half of Bubble.
func BubbleOver(t *testing.T, dir string, plain bool, test func(*World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &World{T: t, Store: mem.NewStore(), Ctx: t.Context(), Plain: plain, Dir: dir}
		t.Cleanup(func() {
			synctest.Wait()
			if s := w.Store.Stats(); s != (mem.Stats{}) {
				t.Errorf("left in the store: %+v", s)
			}
		})
		test(w)
	})
}

// Settle waits until everything has happened that can happen now: at once where
// the store tells of changes, and after a look where it does not.
func (w *World) Settle() {
	synctest.Wait()
	if w.Lag > 0 {
		time.Sleep(w.Lag)
		synctest.Wait()
	}
}

// Is wants err to be all of want.
func (w *World) Is(err error, want ...error) {
	w.Helper()
	for _, want := range want {
		if !errors.Is(err, want) {
			w.Fatalf("error %v; want %v", err, want)
		}
	}
}

// Says wants an error with a text in it.
func (w *World) Says(err error, text string) {
	w.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		w.Fatalf("error %v; want one that says %q", err, text)
	}
}

// OK wants no error.
func (w *World) OK(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// Line returns the line as somebody sees it who has no part in it.
func (w *World) Line() []driver.Node {
	w.Helper()
	conn := w.Store.Open(Namespace)
	defer conn.Close()
	nodes, err := conn.List(w.Ctx, w.Dir)
	w.OK(err)
	return nodes
}

// Nodes wants n nodes in the line, once everybody is blocked.
func (w *World) Nodes(n int) []driver.Node {
	w.Helper()
	synctest.Wait()
	nodes := w.Line()
	if len(nodes) != n {
		w.Fatalf("%d entries in the line; want %d", len(nodes), n)
	}
	return nodes
}

// Remove removes a node from the line as an operator would, by its key.
func (w *World) Remove(key string) { w.Store.Remove(Namespace, w.Dir, key) }

// RemoveDir removes the line with all that is in it, as an operator would.
func (w *World) RemoveDir() { w.Store.RemoveDir(Namespace, w.Dir) }

// Hold is what all holds have in common.
type Hold interface {
	Context() context.Context
	Done() <-chan struct{}
	Err() error
	Token() uint64
	Session() *coord.Session
}

// Holds wants holds not to have ended.
func (w *World) Holds(held ...Hold) {
	w.Helper()
	synctest.Wait()
	for _, h := range held {
		if h.Err() != nil || h.Context().Err() != nil {
			w.Fatalf("a hold has ended: %v", h.Err())
		}
	}
}

// Lost wants a hold to have ended for the reason why.
func (w *World) Lost(h Hold, why error) {
	w.Helper()
	synctest.Wait()
	if !over(h.Done()) {
		w.Fatal("the hold's Done is open")
	}
	for _, err := range []error{h.Err(), context.Cause(h.Context())} {
		w.Is(err, coord.ErrNotHeld, why)
	}
}

func over(done <-chan struct{}) bool {
	select { // not a wait: the default makes it a look
	case <-done:
		return true
	default:
		return false
	}
}
