package sabotage

import (
	"context"
	"iter"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// loop is a loop over what Watch returns.
type loop struct {
	conn  *conn
	ctx   context.Context
	dir   string
	sound iter.Seq2[[]driver.Node, error]
}

// yielding is the body of a loop.
type yielding = func([]driver.Node, error) bool

// loops breaks every loop of a connection.
func (c *conn) loops(sabotage func(*loop, yielding)) {
	c.watch = func(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
		return func(yield func([]driver.Node, error) bool) {
			sabotage(&loop{c, ctx, dir, c.soundWatch(ctx, dir)}, yield)
		}
	}
}

// states breaks what the loops of a connection are shown: begin is called for
// each, and what it returns says for each state what to show in its place.
func (c *conn) states(begin func(*loop) func([]driver.Node) [][]driver.Node) {
	c.loops(func(w *loop, yield yielding) {
		show := begin(w)
		for nodes, err := range w.sound {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, state := range show(nodes) {
				if !yield(state, nil) {
					return
				}
			}
		}
	})
}

// eachState makes the Apply of a sabotage that needs no more.
func eachState(begin func(*loop) func([]driver.Node) [][]driver.Node) func(conformance.Harness) conformance.Harness {
	return eachConn(func(c *conn) { c.states(begin) })
}

// eachLoop likewise.
func eachLoop(sabotage func(*loop, yielding)) func(conformance.Harness) conformance.Harness {
	return eachConn(func(c *conn) { c.loops(sabotage) })
}

// hidden makes the Apply of a sabotage that hides states. hide is given each
// state and the one that was shown last, nil at first.
func hidden(begin func(*loop) func(last, nodes []driver.Node) bool) func(conformance.Harness) conformance.Harness {
	return eachState(func(w *loop) func([]driver.Node) [][]driver.Node {
		hide := begin(w)
		var last []driver.Node
		return func(nodes []driver.Node) [][]driver.Node {
			if hide(last, nodes) {
				return nil
			}
			last = append([]driver.Node{}, nodes...) // not nil, though it may be empty
			return [][]driver.Node{nodes}
		}
	})
}

// badEnd makes the Apply of a sabotage of how loops end. end is called instead
// of the body with the error that should end the loop.
func badEnd(end func(w *loop, err error, last []driver.Node, yield yielding)) func(conformance.Harness) conformance.Harness {
	return eachLoop(func(w *loop, yield yielding) {
		var last []driver.Node
		for nodes, err := range w.sound {
			if err != nil {
				end(w, err, last, yield)
				return
			}
			if last = nodes; !yield(nodes, nil) {
				return
			}
		}
	})
}

// moment is a time in virtual time that is none for a busy machine.
const moment = 10 * time.Millisecond
