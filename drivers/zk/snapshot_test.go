package zk

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
)

// ways are the calls that list the directory "d".
func (f *fixture) ways(s *session) map[string]func(context.Context) ([]driver.Node, error) {
	return map[string]func(context.Context) ([]driver.Node, error){
		"a session": func(ctx context.Context) ([]driver.Node, error) { return s.List(ctx, "d") },
		"an observer": func(ctx context.Context) ([]driver.Node, error) {
			for nodes, err := range f.Watch(ctx, "d") {
				return nodes, err
			}
			return nil, errors.New("nothing is shown")
		},
	}
}

// reading calls do once, when the data of a node are first asked for.
func (f *fixture) reading(n driver.Node, do func()) {
	var once sync.Once
	f.tap.intercept(func(_ *tapped, op int32, frame []byte) bool {
		if op == opGetData && string(frame[16:len(frame)-1]) == n.Key {
			once.Do(do)
		}
		return false
	})
}

// A list takes a request for the names, and one for each node that is not known
// yet. Between them a node is replaced by another, as by a downgrade: whatever is
// listed, one of the two is.
func TestListIsAStateThatWas(t *testing.T) {
	f := start(t)
	other := f.peer()
	s, theirs := f.open(long), other.open(long)
	f.create(s, "d", "own")
	for what, list := range f.ways(s) {
		before := other.create(theirs, "d", "before")
		var after driver.Node
		f.reading(before, func() {
			after = other.create(theirs, "d", "after")
			must(t, theirs.Delete(within(t), before))
		})
		nodes, err := list(within(t))
		f.tap.intercept(nil)
		must(t, err)
		found := false
		for _, n := range nodes {
			found = found || n.Same(before) || n.Same(after)
		}
		if after.Key == "" || !found {
			t.Errorf("%s lists %v while %s is replaced by %s", what, nodes, before.Key, after.Key)
		}
		must(t, theirs.Delete(within(t), after))
	}
}

// Between them another node is created and then this one updated: where the new data
// are shown, the new node is. Who writes data by hand is shown too.
func TestDataAreOfTheMomentOfTheList(t *testing.T) {
	f := start(t)
	other := f.peer()
	s, theirs := f.open(long), other.open(long)
	for what, list := range f.ways(s) {
		for _, byHand := range []bool{false, true} {
			before := other.create(theirs, "d", "before")
			var after driver.Node
			f.reading(before, func() {
				after = other.create(theirs, "d", "after")
				if byHand {
					_, err := f.admin.Set(before.Key, []byte("new"), -1)
					must(t, err)
					return
				}
				_, err := theirs.Update(within(t), before, []byte("new"))
				must(t, err)
			})
			nodes, err := list(within(t))
			f.tap.intercept(nil)
			must(t, err)
			updated, created := false, false
			for _, n := range nodes {
				updated = updated || n.Same(before) && string(n.Data) == "new"
				created = created || n.Same(after)
			}
			if after.Key == "" || !updated || !created && !byHand {
				t.Errorf("%s lists %v while %s is updated (by hand: %v)", what, nodes, before.Key, byHand)
			}
			must(t, theirs.Delete(within(t), before))
			must(t, theirs.Delete(within(t), after))
		}
	}
}
