package queue_test

import (
	"slices"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/bynames"
)

// tellsAll is whether a line's names are enough: whether none is of kind "d".
func tellsAll(line []driver.Node) bool {
	return !slices.ContainsFunc(line, func(n driver.Node) bool { return queue.Kind(n) == "d" })
}

// named is a client of a store whose lists are names, with a rule that checks that
// it is given what it needs: names alone only where they suffice, and otherwise the
// data of all.
func (w *world) named(lists *bynames.Lists) *client {
	p := w.ProcessOver(lists.Over)
	rule := func(line []driver.Node, own int) queue.Verdict {
		read := 0
		for _, n := range line {
			if len(n.Data) > 0 {
				read++
			}
		}
		if read < len(line) && (read > 0 || !tellsAll(line)) {
			w.Errorf("of %d nodes in the line %d have data", len(line), read)
		}
		return inPlace(line, own)
	}
	return &client{p, queue.New(p.Client, "line", "l", rule).ByNames(tellsAll), w}
}

// Lists are of names where those suffice, and otherwise once more with data.
func TestByNames(t *testing.T) {
	bubble(t, func(w *world) {
		var lists bynames.Lists
		asked := func(what string, named, full int64) {
			t.Helper()
			if n, f := lists.Next(); n != named || f != full {
				t.Errorf("%s took %d lists of names and %d with data; want %d and %d", what, n, f, named, full)
			}
		}
		a, b := w.named(&lists), w.named(&lists)
		first, _ := a.acquire(queue.Request{Kind: "w"})
		asked("joining", 1, 0)
		var second *queue.Entry
		granted := w.begin(func() (err error) { second, err = b.Acquire(w.Ctx, queue.Request{Kind: "w"}); return err })
		asked("joining behind another", 1, 0)
		w.OK(first.Leave(w.Ctx))
		if err, over := granted(); !over || err != nil {
			t.Fatalf("over: %t, %v", over, err)
		}
		asked("a handoff", 1, 0)

		// Trade looks for its own entry only, and whoever joins then needs data.
		h, err := second.Hold(w.Ctx)
		w.OK(err)
		downgraded, _, err := second.Downgrade(w.Ctx, h, queue.Request{Kind: "d"})
		w.OK(err)
		asked("a trade", 1, 0)
		next := w.begin(func() error { _, err := a.Acquire(w.Ctx, queue.Request{Kind: "w"}); return err })
		if _, over := next(); over {
			t.Fatal("granted while another stands in the place ahead")
		}
		asked("joining where names do not suffice", 1, 1)
		w.OK(downgraded.Leave(w.Ctx))
		if err, over := next(); !over || err != nil {
			t.Fatalf("over: %t, %v", over, err)
		}
		asked("a handoff from there", 1, 0)

		_, err = b.TryAcquire(w.Ctx, queue.Request{Kind: "w"})
		if err == nil {
			t.Error("a try has got in")
		}
		asked("a try that does not join", 0, 0)
	})
}

// Who tries is not kept out by what only looks like an entry, for nobody waits for
// it.
func TestTryPastAPhantom(t *testing.T) {
	bubble(t, func(w *world) {
		lists := bynames.Lists{Phantom: driver.Node{Dir: dir, ID: "0", Key: "phantom", Session: "nobody's"}}
		e, err := w.named(&lists).TryAcquire(w.Ctx, queue.Request{})
		w.OK(err)
		w.OK(e.Leave(w.Ctx))
	})
}

// An entry whose creation was acknowledged, and whose line could not be looked at,
// is made once.
func TestLookAfterNamesFails(t *testing.T) {
	bubble(t, func(w *world) {
		var lists bynames.Lists
		a, b := w.named(&lists), w.named(&lists)
		e, h := a.acquire(queue.Request{Kind: "w"})
		downgraded, _, err := e.Downgrade(w.Ctx, h, queue.Request{Kind: "d"})
		w.OK(err)
		_, err = b.Session(w.Ctx)
		w.OK(err)
		lists.Next()
		b.Link().DropNextReply(mem.OpList)
		b.Link().DropNextReply(mem.OpList)
		next := w.begin(func() error { _, err := b.Acquire(w.Ctx, queue.Request{Kind: "w"}); return err })
		time.Sleep(ttl / 2) // for what is tried again
		w.Nodes(2)
		w.OK(downgraded.Leave(w.Ctx))
		if err, over := next(); !over || err != nil {
			t.Errorf("over: %t, %v", over, err)
		}
	})
}
