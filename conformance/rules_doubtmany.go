package conformance

import (
	"context"
	"fmt"
	"slices"

	"github.com/coordkit/coordkit/coord/driver"
)

// muchInDoubt is more slots than a larger fixed table would hold.
const muchInDoubt = 48

// slotOfMany is one of many slots in several directories.
type slotOfMany struct{ dir, id string }

// manyOvertaken has many Creates held and given up, and each slot settled. Then the held
// requests land, the first ones last, and none leaves a node.
func manyOvertaken(t *Trial, settle func(s driver.Session, at slotOfMany)) {
	const dirs = 4
	s, l := t.SessionOverLink()
	t.Bystander(dir)
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	var slots []slotOfMany
	var creating []<-chan struct{}
	var releases []func()
	for i := range muchInDoubt {
		at := slotOfMany{fmt.Sprint(other, i%dirs), fmt.Sprint(i)}
		slots = append(slots, at)
		releases = append(releases, t.hold(l))
		creating = append(creating, t.Go(func() { _, _, _ = t.create(ctx, s, at.dir, at.id, nil) }))
		t.pause() // for its request to be on its way
	}
	cancel()
	t.join("one of many calls of Create whose ctx has ended", creating...)
	t.crowd(len(slots), func(i int) { settle(s, slots[i]) })
	for _, release := range slices.Backward(releases) {
		release()
	}
	t.settles(func() error {
		for i := range dirs {
			for _, n := range t.Nodes(fmt.Sprint(other, i)) {
				if slices.Contains(slots, slotOfMany{n.Dir, n.ID}) { // what else is there is for C1
					return fmt.Errorf("%d Creates were given up, and a third client sees %s", len(slots), show(n))
				}
			}
		}
		return nil
	})
}

// manyDeleted makes each node again and deletes it.
func manyDeleted(t *Trial) {
	manyOvertaken(t, func(s driver.Session, at slotOfMany) { t.Delete(s, t.Create(s, at.dir, at.id)) })
}

// manyAbandoned abandons each slot.
func manyAbandoned(t *Trial) {
	manyOvertaken(t, func(s driver.Session, at slotOfMany) {
		t.insist(s, "Abandon "+at.dir+" "+at.id, func() error { return s.Abandon(t.ctx, at.dir, at.id) })
	})
}
