package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

func waitRules() []Rule {
	return []Rule{
		{
			ID:   "W1",
			Text: "WaitDelete returns nil once the node is gone, at once if it already is.",
			Cases: []Case{
				{Name: "deleted", Check: waitsForDelete},
				{Name: "deleted at the same time", Check: waitsWhileDeleted},
				{Name: "deleted while it begins over a slow link", Needs: NeedLink, Check: waitsAsItBegins},
				{Name: "a node as it is listed", Check: nilForListed},
				{Name: "session closed", Check: func(t *Trial) { waitsForEnd(t, func(s driver.Session) { _ = s.Close(t.ctx) }) }},
				{Name: "session ended by the store", Needs: NeedExpire, Check: func(t *Trial) { waitsForEnd(t, t.expire) }},
				{Name: "removed by an operator", Needs: NeedRemoveNode, Check: waitsForRemoval},
				{Name: "directory removed", Needs: NeedRemoveDir, Check: waitsForDirRemoval},
				{Name: "abandoned", Check: waitsForAbandon},
				{Name: "after many updates", Check: waitsThroughUpdates},
				{Name: "another wait given up", Check: waitsBesideOneThatGivesUp},
				{Name: "other connections closed", Check: waitsBesideClosed},
				{Name: "gone before", Check: waitsForGone},
				{Name: "directory changes all the time", Check: waitsInChanging},
				{Name: "many at a time", Check: waitsForMany},
				{Name: "many for one node", Check: waitsManyForOne},
				quiet("after a long quiet time", 0, waitsLong),
			},
		},
		{
			ID:   "W2",
			Text: "WaitDelete returns nil for nothing else: no update, no other node, no broken watch.",
			Cases: []Case{
				{Name: "other changes", Check: waitsThroughChanges},
				quiet("a long quiet time", 0, staysBlockedLong),
				{Name: "data of all sizes", Check: waitsForSizes},
				{Name: "similar directories", Check: waitsInAlike},
				{Name: "a node as it is listed", Check: notNilForListed},
				{Name: "just made", Needs: NeedLink, Check: waitsForTheNew},
				{Name: "other connections closed", Check: staysBlockedBesideClosed},
				{Name: "ctx ended", Check: givesUp},
				{Name: "its deletion given up", Needs: NeedLink, Check: waitsForDoubtedDelete},
				{Name: "session ended by the store", Needs: NeedExpire, Check: waitsWhenEnded},
				{Name: "connections reset", Needs: NeedLink, Check: waitsThroughResets},
				{Name: "link frozen", Needs: NeedLink, Check: waitsThroughFreezes},
			},
		},
		{
			ID:   "W3",
			Text: "A later node of the same name is not the node waited for.",
			Cases: []Case{
				{Name: "made before the wait", Check: namesakeBefore},
				{Name: "made during the wait", Check: func(t *Trial) { namesakeDuring(t, t.Delete) }},
				{Name: "made during the wait, after an operator removed it", Needs: NeedRemoveNode, Check: func(t *Trial) {
					namesakeDuring(t, func(_ driver.Session, n driver.Node) { t.removeNode(n) })
				}},
				{Name: "made during the wait, after the directory was removed", Needs: NeedRemoveDir, Check: func(t *Trial) {
					namesakeDuring(t, func(_ driver.Session, n driver.Node) { t.removeDir(n.Dir) })
				}},
				{Name: "made while the link is frozen", Needs: NeedLink, Check: namesakeUnseen},
			},
		},
	}
}

// waiting is a call of WaitDelete that may not have returned yet.
type waiting struct {
	done   <-chan struct{}
	err    error // once done
	cancel context.CancelFunc
}

// startWait starts a WaitDelete. One goroutine at a time calls it.
func (t *Trial) startWait(s driver.Session, n driver.Node) *waiting {
	ctx, cancel := context.WithCancel(t.ctx)
	t.Cleanup(cancel)
	w, wait := &waiting{cancel: cancel}, t.waitFor(s, n)
	w.done = t.Go(func() { w.err = wait(ctx) })
	return w
}

// wait starts a WaitDelete and gives it the time to set its watch. No event
// tells that it has; where the time is too short, what follows shows less.
func (t *Trial) wait(s driver.Session, n driver.Node) *waiting {
	w := t.startWait(s, n)
	t.pause()
	return w
}

// returnsNil wants the wait to end for the deletion that has just been made.
func (t *Trial) returnsNil(w *waiting, n driver.Node, after string) {
	if !t.within(t.patience(), w.done) {
		t.Fatalf("WaitDelete of %s has not returned %v after %s", show(n), t.patience(), after)
	}
	if w.err != nil {
		t.Fatalf("WaitDelete of %s returned %q after %s; want nil", show(n), w.err, after)
	}
}

// probe sees a node go through the session, so that what happened before has
// reached its watches too. Whether that wait ends as it should is for W1.
func (t *Trial) probe(s, by driver.Session, id string) {
	n := t.Create(by, other, id)
	w := t.wait(s, n)
	t.Sees(n)
	t.Delete(by, n)
	t.within(time.Second, w.done)
	w.cancel()
}

func waitsForDelete(t *Trial) {
	owner, waiter, second := t.Session(), t.Session(), t.Session()
	for i := range 3 {
		n := t.Create(owner, dir, fmt.Sprint(i))
		waits := []*waiting{t.wait(owner, n), t.wait(waiter, n), t.wait(waiter, n), t.wait(second, n)}
		t.Delete(owner, n)
		for _, w := range waits {
			t.returnsNil(w, n, "its deletion")
		}
	}
}

// waitsWhileDeleted deletes while the watch is being set.
func waitsWhileDeleted(t *Trial) {
	owner, waiter := t.Session(), t.Session()
	t.Bystander(dir)
	for i := range 50 {
		n := t.Create(owner, dir, fmt.Sprint(i%4))
		w := t.startWait(waiter, n)
		t.Delete(owner, n)
		t.returnsNil(w, n, "its deletion at the same time")
	}
}

// waitsAsItBegins deletes nodes at any moment of the first round trips of a wait, or of
// those after another change, over a link on which these take their time. Who looks at
// the node first and sets the watch then would miss what happens in between.
func waitsAsItBegins(t *Trial) {
	c, l := t.OpenLink()
	waiter, owner := t.SessionOn(c), t.Session()
	delay := t.h.TTL / 128
	l.Delay(netfault.Both, delay)
	var rounds []<-chan struct{}
	for i := range 20 {
		n := t.Create(owner, fmt.Sprint(dir, i), "0") // in a directory that nobody follows yet
		w := t.startWait(waiter, n)
		rounds = append(rounds, t.Go(func() {
			if i%2 == 0 {
				t.sleep(6 * delay)
				t.Update(owner, n, []byte("new")...)
			}
			t.sleep(time.Duration(i/2) * delay / 2)
			t.Delete(owner, n)
			t.returnsNil(w, n, "its deletion while the watch was set")
		}))
	}
	t.join("waits over a slow link", rounds...)
}

// waitsAsListed waits for nodes as each call of the waiter and its connection lists them,
// and looks at each wait before the node is deleted and after.
func waitsAsListed(t *Trial, before, after func(w *waiting, n driver.Node, how string)) {
	c := t.Open()
	waiter, owner := t.SessionOn(c), t.Session()
	t.Bystander(dir)
	for _, source := range t.sources(c, waiter) {
		for i := range 2 {
			made := t.Create(owner, dir, "0")
			if i > 0 {
				t.Update(owner, made, []byte("new")...)
			}
			n, how := t.asListed(source, made), "it was given as it is in "+source.call
			w := t.wait(waiter, n)
			t.probe(waiter, owner, "probe")
			before(w, n, how)
			t.Delete(owner, made)
			after(w, n, how)
		}
	}
}

// nilForListed is for W1: whether a wait ends too early is for W2.
func nilForListed(t *Trial) {
	waitsAsListed(t, func(w *waiting, n driver.Node, how string) {
		if ended(w.done) {
			t.NotVerified("WaitDelete of %s returned before its deletion, which W2 is about; %s", show(n), how)
		}
	}, func(w *waiting, n driver.Node, how string) { t.returnsNil(w, n, "its deletion; "+how) })
}

// notNilForListed is for W2.
func notNilForListed(t *Trial) {
	waitsAsListed(t,
		func(w *waiting, n driver.Node, how string) { t.blocked(w, n, how) },
		func(w *waiting, _ driver.Node, _ string) { w.cancel() })
}

func waitsForEnd(t *Trial, end func(driver.Session)) {
	owner, waiter := t.Session(), t.Session()
	n := t.Create(owner, dir, "0")
	w := t.wait(waiter, n)
	end(owner)
	if t.comes(t.h.Expiry, t.absent(n)) { // S6
		t.returnsNil(w, n, "a third client saw it gone with its session")
	}
}

func waitsForRemoval(t *Trial) {
	owner, waiter := t.Session(), t.Session()
	n := t.Create(owner, dir, "0")
	w, own := t.wait(waiter, n), t.wait(owner, n)
	t.removeNode(n)
	t.returnsNil(w, n, "an operator removed it")
	t.returnsNil(own, n, "an operator removed it")
}

func waitsForAbandon(t *Trial) {
	owner, waiter := t.Session(), t.Session()
	n := t.Create(owner, dir, "0")
	w, own := t.wait(waiter, n), t.wait(owner, n)
	t.abandoned(owner, n)
	t.returnsNil(w, n, "its session abandoned it")
	t.returnsNil(own, n, "its session abandoned it")
}

func waitsThroughUpdates(t *Trial) {
	owner, waiter := t.Session(), t.Session()
	n := t.Create(owner, dir, "0")
	w := t.wait(waiter, n)
	for i := range 10 {
		n = t.Update(owner, n, byte(i))
	}
	t.Delete(owner, n)
	t.returnsNil(w, n, "its deletion, after ten updates")
}

func waitsForDirRemoval(t *Trial) {
	owner, waiter := t.Session(), t.Session()
	n := t.Create(owner, dir, "0")
	w := t.wait(waiter, n)
	t.removeDir(dir)
	t.returnsNil(w, n, "an operator removed its directory")
}

func waitsForGone(t *Trial) {
	owner, waiter := t.Session(), t.Session()
	n := t.Create(owner, dir, "0")
	t.Delete(owner, n)
	t.Create(owner, other, "0") // which may take the place that the directory had
	for range 3 {               // now the directory is empty, later it is not, and n's revision gets old
		t.isPrompt("WaitDelete of a node that was gone before", func() time.Duration {
			return t.timed(func() { t.returnsNil(t.startWait(waiter, n), n, "it was gone before the wait") })
		})
		for i := range 10 {
			t.Create(owner, dir, fmt.Sprint(i+1))
		}
	}
}

// waitsForMany has a session wait for more nodes, in more directories, than it has
// connections, or than a store lets one of them ask about at a time.
func waitsForMany(t *Trial) {
	const dirs, each = 16, 8
	owner, waiter := t.Session(), t.Session()
	nodes := make([]driver.Node, dirs*each)
	t.crowd(len(nodes), func(i int) {
		nodes[i] = t.Create(owner, fmt.Sprint(dir, i%dirs), fmt.Sprint(i/dirs), byte(i))
	})
	var waits []*waiting
	for _, n := range nodes {
		waits = append(waits, t.wait(waiter, n)) // one after another, so that the last is the last
	}
	t.probe(waiter, owner, "probe")
	for i := range nodes {
		t.blocked(waits[i], nodes[i], "many others were waited for")
	}
	last := len(nodes) - 1 // is not to wait for its turn
	t.Delete(owner, nodes[last])
	t.returnsNil(waits[last], nodes[last], "its deletion, while many others were waited for")
	t.crowd(last, func(i int) { t.Delete(owner, nodes[i]) })
	for i, w := range waits {
		t.returnsNil(w, nodes[i], "it was deleted, as were all of many that were waited for")
	}
}
