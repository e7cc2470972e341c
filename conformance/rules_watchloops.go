package conformance

import (
	"fmt"
	"time"
)

// These cases of V1 have several loops.

// watchesAgain ranges over what one call of Watch returned, again and again.
func watchesAgain(t *Trial) {
	c, s := t.Open(), t.Session()
	v := t.view()
	seq := t.watch(t.ctx, c, dir)
	for i := range 3 {
		v.create(s, fmt.Sprint(i))
		o := t.observeSeq(seq, func(int) bool { return false })
		if err := t.awaits(o, t.patience(), v.look); err != nil && !ended(o.done) {
			t.NotVerified("a loop is shown nothing, which other cases are about")
		} else if err != nil {
			t.Fatalf("what Watch returned was ranged over %d times before: %v", i, err)
		}
		t.join("a loop that was left", o.done)
	}
}

// watchesTogether has several watches on one connection, which come and go.
func watchesTogether(t *Trial) {
	c, s := t.Open(), t.Session()
	v := t.view(t.Bystander(dir))
	var all []*observing
	for range 4 {
		all = append(all, t.observe(t.ctx, c, dir))
	}
	elsewhere := t.observe(t.ctx, c, other)
	for len(all) > 0 {
		n := v.create(s, "0")
		for _, o := range all {
			v.shows(o, "a node was created, in several watches")
		}
		v.delete(s, n)
		for _, o := range all {
			v.shows(o, "a node was deleted, in several watches")
		}
		all[0].cancel()
		t.within(time.Second, all[0].done) // V4
		all = all[1:]
	}
	n := t.Create(s, other, "0")
	if err := t.awaits(elsewhere, t.patience(), t.view(n).look); err != nil {
		t.Fatalf("a watch of another directory, after those beside it had ended, does not show a new node: %v", err)
	}
}
