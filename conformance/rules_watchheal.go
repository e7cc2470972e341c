package conformance

import (
	"fmt"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// watchHealCases are those of V3.
func watchHealCases() []Case {
	frozen := func(l Link) { l.Freeze(netfault.Both) }
	return append(perDirection(changedInGap),
		Case{Name: "connections reset", Needs: NeedLink, Check: func(t *Trial) { changedInGap(t, Link.DropConnections) }},
		Case{Name: "connections refused", Needs: NeedLink, Check: func(t *Trial) { changedInGap(t, Link.Cut) }},
		Case{Name: "replies lost", Needs: NeedLink, Check: func(t *Trial) { changedInGap(t, Link.DropReplies) }},
		Case{Name: "reset again and again", Needs: NeedLink, Check: changedUnderResets},
		oftenReset(changedAfterManyResets),
		quiet(longAfter, NeedLink, changedLongAfterFaults),
		Case{Name: "many changes in the gap", Needs: NeedLink, Check: changedMuchInGap},
		Case{Name: "history compacted", Needs: NeedLink | NeedCompact, Check: compactedInGap},
		Case{Name: "frozen until a session is lost", Needs: NeedLink, Check: func(t *Trial) { sessionLostInGap(t, frozen) }},
		Case{Name: "refused until a session is lost", Needs: NeedLink, Check: func(t *Trial) { sessionLostInGap(t, Link.Cut) }},
		Case{Name: "begun while frozen", Needs: NeedLink, Check: func(t *Trial) { begunInGap(t, frozen) }},
		Case{Name: "begun while refused", Needs: NeedLink, Check: func(t *Trial) { begunInGap(t, Link.Cut) }},
	)
}

// watched is a directory, with a node that stays, a session that changes it and
// a watch of it over a link that can be broken.
type watched struct {
	*view
	conn  driver.Conn
	link  Link
	owner driver.Session
	stays driver.Node
	watch *observing
}

func (t *Trial) watched() *watched {
	w := &watched{view: t.view(), owner: t.Session()}
	w.conn, w.link = t.OpenLink()
	w.stays = w.create(w.owner, "stays")
	w.watch = t.observe(t.ctx, w.conn, dir)
	w.works(w.watch, w.owner)
	return w
}

// heals wants the watch to show how things are without a further change.
func (w *watched) heals(after string) {
	if err := w.t.awaits(w.watch, w.t.patience(), w.look); err != nil {
		w.t.mustLive(w.owner)
		w.t.Fatalf("a watch does not show the directory after %s: %v", after, err)
	}
}

// goesOn wants the watch to show how things are, and what happens next. It was
// never to show what is not so, as an empty directory while it saw nothing.
func (w *watched) goesOn(after string) {
	w.heals(after)
	w.update(w.owner, w.create(w.owner, "next"), []byte("new")...)
	w.heals(after + ", which it had survived, and further changes")
	for i, nodes := range w.watch.states() {
		if _, ok := find(nodes, w.stays); !ok {
			w.t.mustLive(w.owner)
			w.t.Fatalf("state %d of a watch shows %s without %s, which was there all the time", i, show(nodes...), show(w.stays))
		}
	}
}

func changedInGap(t *Trial, fault func(Link)) {
	w := t.watched()
	goes, changes := w.create(w.owner, "0"), w.create(w.owner, "1")
	fault(w.link)
	w.delete(w.owner, goes)
	w.create(w.owner, "2")
	w.update(w.owner, changes, []byte("new")...)
	t.sleep(t.h.TTL / 16) // let the driver find out that it is cut off
	t.heal(w.link)
	w.goesOn("changes behind its back")
}

func changedUnderResets(t *Trial) {
	w := t.watched()
	for i := range 6 {
		n := w.create(w.owner, fmt.Sprint(i%4))
		for range i % 4 {
			w.link.DropConnections()
		}
		w.delete(w.owner, n)
		w.link.DropConnections()
		w.heals("resets and changes in turn")
	}
	w.goesOn("resets and changes in turn")
}

// changedMuchInGap makes more changes than somebody who would catch up on them
// one by one should keep for him.
func changedMuchInGap(t *Trial) {
	w := t.watched()
	counter := w.create(w.owner, "counter")
	w.link.Cut()
	for i := range 150 {
		n := w.create(w.owner, fmt.Sprint(i%4))
		w.update(w.owner, counter, count(i)...)
		w.delete(w.owner, n)
	}
	t.heal(w.link)
	w.goesOn("hundreds of changes behind its back")
}

func compactedInGap(t *Trial) {
	w := t.watched()
	goes := w.create(w.owner, "0")
	w.link.Cut()
	w.delete(w.owner, goes)
	w.create(w.owner, "1")
	t.compact()
	t.heal(w.link)
	w.goesOn("changes behind its back of which the store has forgotten the history")
}

// sessionLostInGap lasts so long that the store has forgotten the client: what
// a connection shares among its sessions and its watches may be lost with them.
func sessionLostInGap(t *Trial, fault func(Link)) {
	w := t.watched()
	lost := t.Create(t.SessionOn(w.conn), other, "lost")
	t.Sees(lost)
	goes := w.create(w.owner, "0")
	fault(w.link)
	if !t.comes(t.h.Expiry, t.absent(lost)) {
		t.NotVerified("a session whose link is broken does not end, which S6 is about")
	}
	w.delete(w.owner, goes)
	w.create(w.owner, "1")
	t.heal(w.link)
	w.goesOn("the loss of a session on its connection")
}

// begunInGap begins a watch that cannot show anything yet.
func begunInGap(t *Trial, fault func(Link)) {
	w := t.watched()
	w.watch.cancel()
	t.within(time.Second, w.watch.done) // V4
	fault(w.link)
	w.watch = t.observe(t.ctx, w.conn, dir)
	w.create(w.owner, "0")
	t.sleep(t.h.TTL / 16) // let the driver find out that it is cut off
	t.heal(w.link)
	w.goesOn("it began while the store could not be reached")
}
