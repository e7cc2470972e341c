package queue

import (
	"slices"
	"testing"
	"time"
)

// Whoever leaves, or is due in another way, while it is patrolled is not due again by
// that, and whoever is neither is.
func TestAfterThePatrol(t *testing.T) {
	g := &guards{delay: time.Hour}
	names := map[*Entry]string{{}: "left", {}: "recalled", {}: "due", {}: "patrolled"}
	entries := make(map[string]*Entry)
	for e, name := range names {
		entries[name] = e
	}
	for _, name := range []string{"left", "recalled", "due", "patrolled"} {
		e := entries[name]
		g.join(e)
		if name != "due" {
			g.unlist(e)
			e.guarding.patrolled = true
		}
	}
	defer g.timer.Stop()
	if !g.leave(entries["left"]) || g.leave(entries["left"]) {
		t.Error("who is patrolled leaves once")
	}
	if !g.recall(entries["recalled"]) || g.recall(entries["recalled"]) || g.recall(entries["due"]) {
		t.Error("who is patrolled is recalled once, and nobody else")
	}
	g.join(entries["recalled"])
	for _, name := range []string{"left", "recalled", "patrolled"} {
		g.again(entries[name])
	}
	want := []string{"due", "recalled", "patrolled"}
	var forth, back []string
	for e := g.first; e != nil && len(forth) <= len(want); e = e.guarding.next {
		forth = append(forth, names[e])
	}
	for e := g.last; e != nil && len(back) <= len(want); e = e.guarding.prev {
		back = append(back, names[e])
	}
	slices.Reverse(back)
	if !slices.Equal(forth, want) || !slices.Equal(back, want) {
		t.Errorf("due are %q and, from the end, %q; want %q", forth, back, want)
	}
}
