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
				{Name: "session closed", Check: func(t *Trial) { waitsForEnd(t, func(s driver.Session) { _ = s.Close(t.ctx) }) }},
				{Name: "session ended by the store", Needs: NeedExpire, Check: func(t *Trial) { waitsForEnd(t, t.expire) }},
				{Name: "removed by an operator", Needs: NeedRemoveNode, Check: waitsForRemoval},
				{Name: "directory removed", Needs: NeedRemoveDir, Check: waitsForDirRemoval},
				{Name: "gone before", Check: waitsForGone},
				{Name: "many at a time", Check: waitsForMany},
			},
		},
		{
			ID:   "W2",
			Text: "WaitDelete returns nil for nothing else: no update, no other node, no broken watch.",
			Cases: []Case{
				{Name: "other changes", Check: waitsThroughChanges},
				{Name: "just made", Needs: NeedLink, Check: waitsForTheNew},
				{Name: "ctx ended", Check: givesUp},
				{Name: "connections reset", Needs: NeedLink, Check: waitsThroughResets},
				{Name: "link frozen", Needs: NeedLink, Check: waitsThroughFreezes},
			},
		},
		{
			ID:   "W3",
			Text: "A later node of the same name is not the node waited for.",
			Cases: []Case{
				{Name: "made before the wait", Check: namesakeBefore},
				{Name: "made during the wait", Check: namesakeDuring},
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

// startWait starts a WaitDelete.
func (t *Trial) startWait(s driver.Session, n driver.Node) *waiting {
	ctx, cancel := context.WithCancel(t.ctx)
	t.Cleanup(cancel)
	w := &waiting{cancel: cancel}
	w.done = t.Go(func() { w.err = s.WaitDelete(ctx, n) })
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
	for range 3 { // now the directory is empty, later it is not, and n's revision gets old
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
		nodes[i] = t.Create(owner, fmt.Sprint(dir, i%dirs), fmt.Sprint(i/dirs))
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

// blocked wants the wait for n, which the third client still sees, not to have
// returned nil, and reports whether it still waits.
func (t *Trial) blocked(w *waiting, n driver.Node, after string) bool {
	if _, ok := find(t.Nodes(n.Dir), n); !ok {
		return false // nothing can be said
	}
	if !ended(w.done) {
		return true
	}
	if w.err == nil {
		t.Fatalf("WaitDelete of %s returned nil after %s, and a third client still sees the node", show(n), after)
	}
	return false
}

func waitsThroughChanges(t *Trial) {
	owner, waiter, third := t.Session(), t.Session(), t.Session()
	ahead := t.Create(third, dir, "ahead")
	n := t.Create(owner, dir, "0")
	t.Sees(n)
	w := t.wait(waiter, n)
	for i, change := range []struct {
		name string
		make func()
	}{
		{"nothing", func() {}},
		{"an update", func() { t.Update(owner, n, []byte("new")...) }},
		{"a second update", func() { t.Update(owner, n) }},
		{"a node joined the line", func() { t.Create(third, dir, "1") }},
		{"the head of the line left it", func() { t.Delete(third, ahead) }},
		{"another session's node of that id came and went", func() { t.Delete(third, t.Create(third, dir, "0")) }},
		{"a node of that name in another directory came and went", func() { t.Delete(owner, t.Create(owner, other, "0")) }},
		{"a session in the line was closed", func() { _ = third.Close(t.ctx) }},
	} {
		change.make()
		t.probe(waiter, owner, fmt.Sprint("probe", i))
		t.blocked(w, n, change.name)
	}
}

func waitsThroughResets(t *Trial) {
	c, l := t.OpenLink()
	waiter, owner := t.SessionOn(c), t.Session()
	n := t.Create(owner, dir, "0")
	t.Sees(n)
	for i := range 5 {
		w := t.wait(waiter, n)
		if i%2 == 0 {
			l.DropConnections()
		} else {
			l.Cut()
			t.sleep(t.h.TTL / 16)
			t.heal(l)
		}
		t.Throughout(t.h.TTL/8, func() error { t.blocked(w, n, "the connection was reset"); return nil })
		w.cancel()
	}
}

func waitsThroughFreezes(t *Trial) {
	c, l := t.OpenLink()
	waiter, owner := t.SessionOn(c), t.Session()
	n := t.Create(owner, dir, "0")
	t.Sees(n)
	w := t.wait(waiter, n)
	for _, d := range directions {
		l.Freeze(d)
		t.Throughout(t.h.TTL/4, func() error { t.blocked(w, n, "the link was frozen"); return nil })
		t.heal(l)
		t.Throughout(t.h.TTL/4, func() error { t.blocked(w, n, "the link was healed"); return nil })
	}
}

// waitsForTheNew waits for nodes that were made a moment before, while another wait has
// the driver follow the directory already, by a link on which news takes its time: what
// is not heard of yet is not gone.
func waitsForTheNew(t *Trial) {
	c, l := t.OpenLink()
	waiter, owner := t.SessionOn(c), t.Session()
	t.wait(waiter, t.Bystander(dir))
	l.Delay(netfault.Down, t.h.TTL/32)
	for i := range 8 {
		n := t.Create(owner, dir, fmt.Sprint(i))
		w := t.startWait(waiter, n)
		t.Throughout(t.h.TTL/16, func() error { t.blocked(w, n, "it was made"); return nil })
		t.Delete(owner, n)
		if !ended(w.done) || w.err == nil {
			t.returnsNil(w, n, "its deletion")
		}
	}
}

// givesUp wants a wait that its caller gave up not to pass for a deletion.
func givesUp(t *Trial) {
	owner, waiter := t.Session(), t.Session()
	n := t.Create(owner, dir, "0")
	t.Sees(n)
	for _, e := range endings {
		ctx, cancel := e.make(t.ctx, t.h.TTL/8)
		w := &waiting{cancel: cancel}
		w.done = t.Go(func() { w.err = waiter.WaitDelete(ctx, n) })
		t.within(t.patience(), w.done) // B1
		t.blocked(w, n, "its ctx was "+e.name)
		cancel()
	}
}

func namesakeBefore(t *Trial) {
	owner, waiter := t.Session(), t.Session()
	t.Bystander(dir)
	n := t.Create(owner, dir, "0")
	t.Delete(owner, n)
	later := t.Create(owner, dir, "0")
	t.returnsNil(t.wait(waiter, n), n, "it was gone and a later node had its slot")

	// And the deletion of the earlier is no news of the later.
	w := t.wait(waiter, later)
	t.probe(waiter, owner, "0")
	t.blocked(w, later, "an earlier node of its name had been deleted")
}

func namesakeDuring(t *Trial) {
	owner, waiter := t.Session(), t.Session()
	t.Bystander(dir)
	n := t.Create(owner, dir, "0")
	for range 10 {
		w := t.wait(waiter, n)
		t.Delete(owner, n)
		later := t.Create(owner, dir, "0")
		t.returnsNil(w, n, "it was deleted and another took its slot")
		n = later
	}
}

// namesakeUnseen deletes and makes anew while the waiter cannot hear of it.
func namesakeUnseen(t *Trial) {
	c, l := t.OpenLink()
	waiter, owner := t.SessionOn(c), t.Session()
	t.Bystander(dir)
	n := t.Create(owner, dir, "0")
	w := t.wait(waiter, n)
	l.Freeze(netfault.Both)
	t.Delete(owner, n)
	later := t.Create(owner, dir, "0")
	t.heal(l)
	if !t.within(t.patience(), w.done) {
		t.Delete(owner, later)
		if t.within(t.patience(), w.done) {
			t.Fatalf("WaitDelete of %s returned only when %s, which had taken its slot, was deleted too", show(n), show(later))
		}
		t.NotVerified("the wait hangs, which W5 is about")
	}
	t.mustLive(waiter)
	if w.err != nil && !driver.Transient(w.err) {
		t.Fatalf("WaitDelete of %s returned %q after it was deleted and another took its slot; want nil", show(n), w.err)
	}
}
