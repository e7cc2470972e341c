package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

func watchRules() []Rule {
	return []Rule{
		{
			ID:   "V1",
			Text: "Watch shows the directory as it is at once, and again after every change.",
			Cases: []Case{
				{Name: "at once", Check: watchesAtOnce},
				{Name: "ranged over again", Check: watchesAgain},
				{Name: "acknowledged before", Check: watchesAcknowledged},
				{Name: "changed while it begins over a slow link", Needs: NeedLink, Check: watchesAsItBegins},
				{Name: "absent directory", Check: watchesAbsent},
				{Name: "every change", Check: watchesChanges},
				{Name: "in quick succession", Check: watchesQuickly},
				{Name: "slow consumer", Check: watchesSlowly},
				{Name: "beside a slow consumer", Check: watchesBesideSlow},
				{Name: "slot used again", Check: watchesSlot},
				{Name: "abandoned", Check: watchesAbandon},
				{Name: "several watches", Check: watchesTogether},
				{Name: "many watches", Check: watchesMany},
				{Name: "similar directories", Check: watchesInAlike},
				{Name: "many nodes", Check: watchesManyNodes},
				{Name: "many states", Check: watchesManyStates},
				quiet("after a long quiet time", 0, watchesLong),
				{Name: "other connections closed", Check: watchesBesideClosed},
				{Name: "session closed", Check: func(t *Trial) { watchesEnd(t, func(s driver.Session) { _ = s.Close(t.ctx) }) }},
				{Name: "session ended by the store", Needs: NeedExpire, Check: func(t *Trial) { watchesEnd(t, t.expire) }},
				{Name: "removed by an operator", Needs: NeedRemoveNode, Check: watchesRemoval},
				{Name: "directory removed", Needs: NeedRemoveDir, Check: watchesDirRemoval},
				{Name: "foreign keys", Needs: NeedPlantForeign, Check: watchesForeign},
			},
		},
		{
			ID:    "V2",
			Text:  "Watch never shows an older state after a newer one.",
			Cases: watchOrderCases(),
		},
		{
			ID:    "V3",
			Text:  "A watch survives a broken connection, a lost server and compacted history.",
			Cases: watchHealCases(),
		},
		{
			ID:    "V4",
			Text:  "A watch ends with the error that says why, within 100 ms of its ctx ending and at once when the Conn is closed.",
			Cases: watchEndCases(),
		},
		{
			ID:    "V5",
			Text:  "A watch that ended leaves nothing behind, or something shared and bounded.",
			Cases: watchLeftCases(),
		},
	}
}

// first wants a watch to show the view at once.
func (v *view) first(o *observing) {
	took := v.t.timed(func() {
		if err := v.t.awaits(o, v.t.patience(), func([]driver.Node) error { return nil }); err != nil {
			v.t.Fatalf("a watch does not show the directory when it begins: %v", err)
		}
	})
	if took > v.t.promptly() {
		v.t.Fatalf("a watch took %v to show the directory when it began", took)
	}
	if err := v.look(o.states()[0]); err != nil {
		v.t.Fatalf("what a watch showed first is not what was acknowledged before it began: %v", err)
	}
}

func watchesAtOnce(t *Trial) {
	c, a, b := t.Open(), t.Session(), t.Session()
	v := t.view()
	// Names that begin, end or continue like the one watched.
	for _, near := range []string{other, dir + "b", dir + ":b", dir + "-", "queue:", "a"} {
		v.not = append(v.not, t.Create(a, near, "0"))
	}
	var nodes []driver.Node
	for i := range 4 {
		for _, s := range []driver.Session{b, a} {
			nodes = append(nodes, v.create(s, fmt.Sprint(i), byte('a'+i)))
		}
	}
	v.delete(a, nodes[3])
	v.update(b, nodes[4], []byte("new")...)
	o := t.observe(t.ctx, c, dir)
	v.first(o)
	if err := t.holds("Watch", o.states()[0], v.stand, v.not); err != nil { // Seq too: no slot was used again
		t.Fatalf("%v", err)
	}
	v.create(a, "later")
	t.Create(b, dir+"b", "1") // of no concern to it
	v.shows(o, "a node was created")
}

// watchesAcknowledged begins a watch right after each change, while another is
// under way on the connection.
func watchesAcknowledged(t *Trial) {
	c, writer := t.Open(), t.Session()
	v := t.view(t.Bystander(dir))
	t.observe(t.ctx, c, dir)
	begin := func() {
		o := t.observeWith(t.ctx, c, dir, func(int) bool { return false })
		v.first(o)
	}
	for i := range 20 {
		n := v.create(writer, fmt.Sprint(i%4))
		begin()
		v.update(writer, n, []byte("new")...)
		begin()
		v.delete(writer, n)
		begin()
	}
}

// watchesAsItBegins changes directories at any moment of the first round trips of a watch,
// and of those after a change, over a link on which these take their time. Who lists first
// and sets the watch then would miss what happens in between.
func watchesAsItBegins(t *Trial) {
	c, l := t.OpenLink()
	s := t.Session()
	delay := t.h.TTL / 128
	l.Delay(netfault.Both, delay)
	var rounds []<-chan struct{}
	for i := range 10 {
		dir := fmt.Sprint(dir, i) // that nobody follows yet
		rounds = append(rounds, t.Go(func() {
			o := t.observe(t.ctx, c, dir)
			t.sleep(time.Duration(i) * delay / 2)
			v := t.view(t.Create(s, dir, "0"))
			v.shows(o, "a node was created while it began")
			m := t.Create(s, dir, "1")
			t.sleep(time.Duration(i) * delay / 2)
			v.update(s, v.stand[0], []byte("new")...)
			v.delete(s, m)
			v.shows(o, "one change after another")
			o.cancel()
		}))
	}
	t.join("watches over a slow link", rounds...)
}

func watchesAbsent(t *Trial) {
	c, s := t.Open(), t.Session()
	v := t.view()
	o := t.observe(t.ctx, c, dir)
	if v.first(o); len(o.states()[0]) > 0 {
		t.Fatalf("a watch of a directory that does not exist shows %s", show(o.states()[0]...))
	}
	for range 3 { // the directory comes, and it becomes empty or goes
		n := v.create(s, "0")
		v.shows(o, "a node was created in a directory that was missing or empty")
		v.delete(s, n)
		v.shows(o, "the only node was deleted")
	}
}

func watchesChanges(t *Trial) {
	c, a, b := t.Open(), t.Session(), t.Session()
	v := t.view()
	first := v.create(a, "0")
	o := t.observe(t.ctx, c, dir)
	v.first(o)
	var last driver.Node
	for _, change := range []struct {
		name string
		make func()
	}{
		{"a node was created", func() { last = v.create(b, "0", 'x') }},
		{"the last node was updated", func() { v.update(b, last, []byte("new")...) }},
		{"the first node was updated", func() { v.update(a, first, []byte("new")...) }},
		{"it was updated to no data", func() { v.update(a, first) }},
		{"a node was created by CreateList", func() { v.createList(b, "listed") }},
		{"the first node was deleted", func() { v.delete(a, first) }},
		{"the last node was updated again", func() { v.update(b, last, []byte("newer")...) }},
		{"it was deleted", func() { v.delete(b, last) }},
	} {
		change.make()
		v.shows(o, change.name)
	}
}

// createList makes a node by the fast path, where there is one.
func (v *view) createList(s driver.Session, id string) {
	if _, ok := driver.As[driver.CreateLister](s); !ok {
		v.create(s, id)
		return
	}
	n, _ := v.t.createList(s, id)
	v.stand = append(v.stand, n)
}

// watchesQuickly makes changes faster than anybody looks at them: the last
// state counts.
func watchesQuickly(t *Trial) {
	c, s := t.Open(), t.Session()
	v := t.view()
	n := v.create(s, "0")
	o := t.observe(t.ctx, c, dir)
	v.first(o)
	for i := range 10 {
		for j := range 4 {
			v.update(s, n, byte('a'+i), byte('a'+j))
		}
		m := v.create(s, fmt.Sprint(i%3+1))
		if i%2 == 0 {
			v.delete(s, m)
			v.create(s, fmt.Sprint(i%3+1))
		}
		v.shows(o, "many changes in quick succession")
		for _, m := range slices.Clone(v.stand[1:]) {
			v.delete(s, m)
		}
	}
	v.shows(o, "many changes in quick succession")
}

// watchesSlowly makes changes while the loop's body is under way.
func watchesSlowly(t *Trial) {
	c, s := t.Open(), t.Session()
	v := t.view()
	n := v.create(s, "0")
	busy := make(chan struct{})
	o := t.observeWith(t.ctx, c, dir, t.slow(busy))
	v.first(o)
	for i := range 30 {
		m := v.create(s, "1")
		v.update(s, n, byte('a'+i))
		v.delete(s, m)
	}
	v.create(s, "2")
	t.sleep(t.h.TTL / 8) // so that the driver has heard of all and is ahead of the consumer
	close(busy)
	v.shows(o, "many changes while the consumer was busy")
}

// watchesSlot makes a node anew with the same name and data.
func watchesSlot(t *Trial) {
	c, s := t.Open(), t.Session()
	v := t.view(t.Bystander(dir))
	n := v.create(s, "0", 'x')
	o := t.observe(t.ctx, c, dir)
	v.first(o)
	for range 10 {
		v.delete(s, n)
		n = v.create(s, "0", 'x')
		v.shows(o, "a node was deleted and its slot used again")
	}
}

func watchesAbandon(t *Trial) {
	c, s := t.Open(), t.Session()
	v := t.view(t.Bystander(dir))
	n := v.create(s, "0", 'x')
	o := t.observe(t.ctx, c, dir)
	v.first(o)
	t.abandoned(s, n)
	v.lose(n)
	v.shows(o, "a node was abandoned")
}
