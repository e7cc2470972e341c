package zk

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
)

// rush has calls of a session made while another change is under way, which is
// answered when all of them wait, and returns what becomes of them, in their order.
// then, if it is not nil, is called right before that.
func (f *fixture) rush(s *session, then func(), calls ...func() error) []<-chan error {
	f.t.Helper()
	g := s.link.sharing
	if g.Limit != 1 { // the first rush; what that one has sent may still look at it
		g.Limit, g.Patience = 1, 0
	}
	under, answer := make(chan struct{}), make(chan struct{})
	go g.Do(within(f.t), nil, func() {
		close(under)
		<-answer
	})
	receive(f.t, "the change ahead", under)
	var outcomes []<-chan error
	for i, do := range calls {
		c := make(chan error, 1)
		outcomes = append(outcomes, c)
		go func() { c <- do() }()
		eventually(f.t, "it waits", func() bool { return g.Waiting() == i+1 })
	}
	if then != nil {
		then()
	}
	close(answer)
	return outcomes
}

// made is a call that creates a node and checks what it is told.
func (f *fixture) made(s *session, dir, id string, n *driver.Node) func() error {
	return func() error {
		made, all, err := s.CreateList(within(f.t), dir, id, []byte(dir+id))
		i := slices.IndexFunc(all, made.Same)
		if err == nil && (i < 0 || string(all[i].Data) != dir+id) {
			err = fmt.Errorf("made %+v and listed %+v", made, all)
		}
		*n = made
		return err
	}
}

func TestChangesAtOneTimeShareATransaction(t *testing.T) {
	f := start(t)
	s := f.open(long)
	dirs := []string{"a", "b", "c"}
	for _, dir := range dirs { // makes the directories
		f.create(s, dir, "bystander")
	}
	old := f.create(s, "a", "old")
	var n [3]driver.Node
	counted := f.tap.during(func() {
		for _, outcome := range f.rush(s, nil,
			f.made(s, "a", "0", &n[0]), f.made(s, "b", "0", &n[1]),
			func() error { return s.Delete(within(t), old) }, f.made(s, "c", "0", &n[2])) {
			must(t, receive(t, "a call", outcome))
		}
	})
	delete(counted, "get") // of the bystanders, once
	wantSent(t, "three creates and a delete", counted, sent{"multi": 1, "children": 3})
	for _, dir := range dirs {
		listed, err := s.List(within(t), dir)
		must(t, err)
		var ids []string
		for _, node := range listed {
			ids = append(ids, node.ID)
		}
		if want := []string{"bystander", "0"}; !slices.Equal(ids, want) {
			t.Errorf("in %s there are %q, want %q", dir, ids, want)
		}
	}
}

// Of a directory each node has a zxid of its own: the numbers rely on it that there
// are at least as many zxids as there were nodes.
func TestNodesOfADirectoryDoNotShare(t *testing.T) {
	f := start(t)
	s := f.open(long)
	f.create(s, "a", "bystander")
	var n [8]driver.Node
	var calls []func() error
	for i := range n {
		calls = append(calls, f.made(s, "a", fmt.Sprint(i), &n[i]))
	}
	for _, outcome := range f.rush(s, nil, calls...) {
		must(t, receive(t, "a call", outcome))
	}
	_, dir, err := f.admin.Get(f.dir("a"))
	must(t, err)
	seen := make(map[int64]bool)
	for _, node := range n {
		_, stat, err := f.admin.Get(node.Key)
		must(t, err)
		_, base := cut(node.Key)
		parsed, _ := parseName(base)
		if seen[stat.Czxid] || stat.Czxid < dir.Czxid+1+int64(parsed.sequence) {
			t.Errorf("%s was made at zxid %x, in a directory of %x", base, stat.Czxid, dir.Czxid)
		}
		seen[stat.Czxid] = true
	}
}

// What one is refused for does not keep the others from it: here, a directory that
// does not exist yet, and a node that is gone.
func TestARefusalIsOfOneAlone(t *testing.T) {
	f := start(t)
	s := f.open(long)
	gone := f.create(s, "a", "gone")
	must(t, f.admin.Delete(gone.Key, -1))
	var n [2]driver.Node
	for _, outcome := range f.rush(s, nil,
		f.made(s, "a", "0", &n[0]), f.made(s, "new", "0", &n[1]),
		func() error { return s.Delete(within(t), gone) }) {
		must(t, receive(t, "a call", outcome))
	}
	f.wantNames("a", 1)
	f.wantNames("new", 1)
}

func TestASharedReplyIsLost(t *testing.T) {
	f := start(t)
	s := f.open(long)
	dirs := []string{"a", "b"}
	f.create(s, "b", "bystander")
	old := f.create(s, "a", "old")
	var n [2]driver.Node
	for _, outcome := range f.rush(s, f.loseReply,
		f.made(s, "a", "0", &n[0]), f.made(s, "b", "0", &n[1]),
		func() error { return s.Delete(within(t), old) }) {
		wantIs(t, receive(t, "a call", outcome), driver.ErrUncertain)
	}
	f.wantNames("a", 1)
	f.wantNames("b", 2)
	for i, dir := range dirs {
		there, err := f.List(within(t), dir)
		must(t, err)
		must(t, f.made(s, dir, "0", &n[i])())
		if !slices.ContainsFunc(there, n[i].Same) {
			t.Errorf("made %+v; want one of %+v", n[i], there)
		}
	}
	must(t, s.Delete(within(t), old))
}

// Who gives up before its turn has sent nothing, and nothing of it comes later.
func TestWhoGivesUpBeforeItsTurnSendsNothing(t *testing.T) {
	f := start(t)
	s := f.open(long)
	f.create(s, "a", "bystander")
	ctx, cancel := context.WithCancel(within(t))
	gaveUp := make(chan error, 1)
	var n driver.Node
	outcomes := f.rush(s, func() {
		cancel()
		wantIs(t, receive(t, "the one that gave up", gaveUp), driver.ErrUnavailable, context.Canceled)
	}, func() error {
		_, err := s.Create(ctx, "a", "0", nil)
		gaveUp <- err
		return nil
	}, f.made(s, "a", "1", &n))
	must(t, receive(t, "the other", outcomes[1]))
	f.wantNames("a", 2)
}

// Who gives up after that does not know, and can fence off what is under way. Its
// data is its own again.
func TestWhoGivesUpWhileItsTransactionIsUnderWay(t *testing.T) {
	f := start(t)
	s := f.open(long)
	f.create(s, "a", "bystander")
	f.create(s, "b", "bystander")
	ctx, cancel := context.WithCancel(within(t))
	data := []byte("data")
	arrived, resume := make(chan struct{}), make(chan struct{})
	outcomes := f.rush(s, func() {
		f.tap.intercept(func(_ *tapped, op int32, frame []byte) bool {
			if !writes[op] {
				return false
			}
			f.tap.intercept(nil)
			if bytes.Count(frame, data) != 2 {
				t.Errorf("sent %q", frame)
			}
			close(arrived)
			<-resume
			return false
		})
	}, func() error { _, err := s.Create(ctx, "a", "0", data); return err },
		func() error { _, err := s.Create(ctx, "b", "0", data); return err })
	receive(t, "the transaction", arrived)
	cancel()
	for _, outcome := range outcomes {
		wantIs(t, receive(t, "a call", outcome), driver.ErrUncertain, context.Canceled)
	}
	copy(data, "else")
	close(resume)
	must(t, s.Abandon(within(t), "a", "0"))
	must(t, s.Abandon(within(t), "b", "0"))
	f.wantNames("a", 1)
	f.wantNames("b", 1)
}

func TestTheEndOfASessionWhileChangesWaitToShare(t *testing.T) {
	f := start(t)
	s := f.open(long)
	var n [2]driver.Node
	for _, outcome := range f.rush(s, func() { f.expire(s) }, f.made(s, "a", "0", &n[0]), f.made(s, "a", "1", &n[1])) {
		wantIs(t, receive(t, "a call", outcome), driver.ErrSessionLost)
	}
}

// A server takes no messages of more than 1 MiB.
func TestLargeOnesDoNotShare(t *testing.T) {
	f := start(t)
	s := f.open(long)
	large := bytes.Repeat([]byte("x"), driver.MaxData)
	const together = mostSharedBytes / driver.MaxData
	var calls []func() error
	for i := range 3 * together {
		dir := fmt.Sprint("d", i)
		f.create(s, dir, "bystander")
		calls = append(calls, func() error { _, err := s.Create(within(t), dir, "0", large); return err })
	}
	counted := f.tap.during(func() {
		for _, outcome := range f.rush(s, nil, calls...) {
			must(t, receive(t, "a call", outcome))
		}
	})
	if counted["multi"] != 3 {
		t.Errorf("sent %v, want three transactions", counted)
	}
}
