package queue

import (
	"slices"
	"testing"
	"time"
)

// Who is patrolled is due again once, unless it has left meanwhile, and then it is
// patrolled no more.
func TestAfterThePatrol(t *testing.T) {
	g := &guards{delay: time.Hour}
	names := map[*Entry]string{{}: "left", {}: "granted", {}: "due", {}: "patrolled"}
	entries := make(map[string]*Entry)
	for e, name := range names {
		entries[name] = e
	}
	for _, name := range []string{"left", "granted", "due", "patrolled"} {
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
	if !g.again(entries["granted"]) || !g.again(entries["patrolled"]) {
		t.Error("who is patrolled is not due again")
	}
	for name, e := range entries {
		if g.again(e) {
			t.Errorf("%s: due again, and not patrolled", name)
		}
	}
	want := []string{"due", "granted", "patrolled"}
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
