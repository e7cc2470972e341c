package conformance

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// watchLeftCases are those of V5.
func watchLeftCases() []Case {
	return []Case{
		{Name: "loop left, one directory", Needs: NeedResidue, Check: func(t *Trial) { leavesNoFeed(t, 1, true) }},
		{Name: "loop left, many directories", Needs: NeedResidue, Check: func(t *Trial) { leavesNoFeed(t, watchesAtATime, true) }},
		{Name: "loop left by a panic", Needs: NeedResidue, Check: leavesNoFeedInPanic},
		{Name: "canceled, one directory", Needs: NeedResidue, Check: func(t *Trial) { leavesNoFeed(t, 1, false) }},
		{Name: "canceled, many directories", Needs: NeedResidue, Check: func(t *Trial) { leavesNoFeed(t, watchesAtATime, false) }},
		{Name: "canceled on a frozen link", Needs: NeedLink | NeedResidue, Check: leavesNoFeedFrozen},
		{Name: "connections reset", Needs: NeedLink | NeedResidue, Check: setsNoMoreFeeds},
		{Name: "goroutines", Check: leavesNoLoop},
		{Name: "goroutines, connections reset", Needs: NeedLink, Check: leavesNoLoopReset},
		{Name: "never ranged over", Needs: NeedResidue, Check: doesNothingBefore},
		{Name: "directory not made", Needs: NeedResidue, Check: watchingMakesNothing},
		{Name: "connection closed", Needs: NeedResidue, Check: closeEndsFeeds},
	}
}

// What the cases of V5 make, and what they allow to stay.
const (
	watchRounds    = 4
	watchesAtATime = 20
	sharedWatches  = 2  // at the store, for the connection
	sharedLoops    = 20 // goroutines, a quarter of a goroutine for each watch
)

// feedDirs are count directories with a node in each.
func (t *Trial) feedDirs(count int) (dirs []string) {
	s := t.Session()
	for i := range count {
		dirs = append(dirs, fmt.Sprint("queue:", i))
		t.Create(s, dirs[i], "0")
	}
	return dirs
}

// feeds begins watches of the directories in turn, each left after its first
// state or else still under way.
func (t *Trial) feeds(c driver.Conn, dirs []string, leave bool) (all []*observing) {
	for i := range watchesAtATime {
		all = append(all, t.observeWith(t.ctx, c, dirs[i%len(dirs)], func(int) bool { return !leave }))
	}
	for _, o := range all {
		t.begins(o)
	}
	return all
}

// endFeeds ends watches, if they have not been left.
func (t *Trial) endFeeds(all []*observing) {
	for _, o := range all {
		o.cancel()
	}
	for _, o := range all {
		t.within(time.Second, o.done) // V4
	}
}

// watchesNow counts the store's watches before a case's own.
func (t *Trial) watchesNow() int {
	n := t.residue().Watches
	if n == Unknown {
		t.NotVerified("the store cannot count watches")
	}
	return n
}

// noMoreWatches wants the store to have few watches more than before.
func (t *Trial) noMoreWatches(before, shared int, after string) {
	t.Eventually(t.patience(), func() error {
		if now := t.residue().Watches; now > before+shared {
			return fmt.Errorf("after %s the store has %d watches; there were %d", after, now, before)
		}
		return nil
	})
}

// leavesNoFeed begins and ends many watches, of one directory or of many.
func leavesNoFeed(t *Trial, count int, leave bool) {
	c, dirs := t.Open(), t.feedDirs(count)
	before := t.watchesNow()
	for range watchRounds {
		t.endFeeds(t.feeds(c, dirs, leave))
	}
	t.noMoreWatches(before, sharedWatches, fmt.Sprintf("%d watches of %d directories had ended", watchRounds*watchesAtATime, count))
}

// leavesNoFeedInPanic has the loop's body panic, and the caller recover.
func leavesNoFeedInPanic(t *Trial) {
	c, dirs := t.Open(), t.feedDirs(watchesAtATime)
	before := t.watchesNow()
	ctx, cancel := context.WithTimeout(t.ctx, 3*t.patience()) // longer than leftovers are waited for
	defer cancel()
	for _, dir := range dirs {
		t.panics(t.watch(ctx, c, dir))
	}
	t.noMoreWatches(before, sharedWatches, fmt.Sprintf("the loops over %d watches were left by a panic", len(dirs)))
}

// panics ranges over what Watch returned until the first state, and panics then.
func (t *Trial) panics(seq iter.Seq2[[]driver.Node, error]) {
	left := errors.New("the consumer panics")
	defer func() {
		if p := recover(); p != nil && p != any(left) {
			panic(p)
		}
	}()
	for _, err := range seq {
		if err != nil {
			break
		}
		panic(left)
	}
	t.NotVerified("a watch did not show the directory, which V1 is about")
}

// leavesNoFeedFrozen ends watches when nobody can tell the store.
func leavesNoFeedFrozen(t *Trial) {
	c, l := t.OpenLink()
	dirs := t.feedDirs(watchesAtATime)
	before := t.watchesNow()
	for range watchRounds {
		all := t.feeds(c, dirs, false)
		l.Freeze(netfault.Both)
		t.endFeeds(all)
		t.heal(l)
	}
	t.noMoreWatches(before, sharedWatches, fmt.Sprintf("%d watches had ended on a frozen link", watchRounds*watchesAtATime))
}

// leavesNoLoop counts goroutines by profiler labels, which what the driver
// starts inherits. The connection's own, of the first use, are not to count.
func leavesNoLoop(t *Trial) {
	c, dirs := t.Open(), t.feedDirs(watchesAtATime)
	t.endFeeds(t.feeds(c, dirs[:1], false))
	name := t.labeled("watches", func() {
		for i := range watchRounds {
			t.endFeeds(t.feeds(c, dirs, i%2 == 0))
		}
	})
	t.fewRun(name, sharedLoops, fmt.Sprintf("the end of %d watches", watchRounds*watchesAtATime))
}

// setsNoMoreFeeds resets the connection again and again under watches. Each has one at
// the store, or one for the children and one for the data, but not one for each reset.
func setsNoMoreFeeds(t *Trial) {
	const storesEach = 3
	c, l := t.OpenLink()
	dirs := t.feedDirs(watchesAtATime)
	before := t.watchesNow()
	all := t.feeds(c, dirs, false)
	for range manyResets {
		l.DropConnections()
		t.pause()
	}
	t.noMoreWatches(before, sharedWatches+storesEach*len(all), fmt.Sprintf("%d resets of the connection under %d watches", manyResets, len(all)))
	t.endFeeds(all)
	t.noMoreWatches(before, sharedWatches, fmt.Sprintf("%d watches, whose connection was reset again and again, had ended", len(all)))
}

// leavesNoLoopReset is leavesNoLoop over a connection that is reset again and again.
func leavesNoLoopReset(t *Trial) {
	c, l := t.OpenLink()
	dirs := t.feedDirs(watchesAtATime)
	t.endFeeds(t.feeds(c, dirs[:1], false))
	name := t.labeled("watches", func() {
		all := t.feeds(c, dirs, false)
		for range manyResets {
			l.DropConnections()
			t.pause()
		}
		t.endFeeds(all)
	})
	t.fewRun(name, sharedLoops, fmt.Sprintf("the end of %d watches, whose connection was reset again and again", watchesAtATime))
}

// doesNothingBefore calls Watch and does not use what it returns.
func doesNothingBefore(t *Trial) {
	c, dirs := t.Open(), t.feedDirs(watchesAtATime)
	before := t.watchesNow()
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	name := t.labeled("calls", func() {
		for _, dir := range dirs {
			t.watch(ctx, c, dir)
		}
	})
	t.sleep(t.lateness()) // time enough to do what is not to be done
	if left := stacks(name); len(left) > 0 {
		t.Fatalf("Watch was called, and not ranged over, and there run\n\t%s", strings.Join(left, "\n\t"))
	}
	if now := t.watchesNow(); now > before {
		t.Fatalf("Watch was called, and not ranged over, and the store has %d watches; there were %d", now, before)
	}
}

func watchingMakesNothing(t *Trial) {
	c, s := t.Open(), t.Session()
	t.Create(s, dir, "0")
	before := t.residue()
	for i := range 10 {
		o := t.observe(t.ctx, c, fmt.Sprint("queue:none", i))
		t.begins(o)
		t.endFeeds([]*observing{o})
	}
	t.Eventually(t.patience(), func() error {
		if after := t.residue(); after.Keys > before.Keys || after.Dirs > before.Dirs {
			return fmt.Errorf("watching ten missing directories left %d keys and %d directories; there were %d and %d",
				after.Keys, after.Dirs, before.Keys, before.Dirs)
		}
		return nil
	})
}

// closeEndsFeeds closes the connection under many watches, and one whose consumer is
// busy and leaves the loop later.
func closeEndsFeeds(t *Trial) {
	dirs := t.feedDirs(watchesAtATime)
	before := t.watchesNow()
	busy := make(chan struct{})
	var all []*observing
	name := t.labeled("watches", func() {
		c := t.Open()
		all = t.feeds(c, dirs, false)
		late := t.observeWith(t.ctx, c, dirs[0], t.slow(busy))
		t.begins(late)
		_ = c.Close() // what it owes is for N1
		for _, o := range all {
			t.within(time.Second, o.done) // V4
		}
		all = append(all, late)
	})
	// The harness counts by connections of its own, which are no goroutines of the watches.
	t.noMoreWatches(before, 0, "a connection was closed under its watches, one with a busy consumer")
	close(busy)
	t.endFeeds(all)
	t.noneRuns(name)
	t.noMoreWatches(before, 0, "a connection was closed under its watches")
}
