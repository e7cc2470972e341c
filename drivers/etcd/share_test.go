package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/status"

	"github.com/coordkit/coordkit/coord/driver"
)

// rush has calls made while a transaction is under way, which is answered when all
// of them wait, and returns what becomes of them, in their order. then, if it is not
// nil, is called right before that.
func (f *fixture) rush(then func(), calls ...func() error) []<-chan error {
	f.t.Helper()
	f.sharing.Limit, f.sharing.Patience = 1, 0
	ahead := f.open(time.Minute)
	under, answer := make(chan struct{}), make(chan struct{})
	f.tap.intercept(func(c call) error {
		f.tap.intercept(nil)
		close(under)
		<-answer
		return c.pass(c.ctx)
	})
	first := make(chan error, 1)
	go func() {
		_, err := ahead.Create(within(f.t), "ahead", "0", nil)
		first <- err
	}()
	receive(f.t, "the transaction ahead", under)
	var outcomes []<-chan error
	for i, do := range calls {
		c := make(chan error, 1)
		outcomes = append(outcomes, c)
		go func() { c <- do() }()
		eventually(f.t, "it waits", func() bool { return f.sharing.Waiting() == i+1 })
	}
	if then != nil {
		then()
	}
	close(answer)
	if err := receive(f.t, "the one ahead", first); !errors.Is(err, driver.ErrClosed) {
		must(f.t, err)
	}
	return outcomes
}

// txns is how many transactions were made.
func (f *fixture) txns() int { return f.tap.sent("Txn") }

func TestChangesAtOneTimeShareATransaction(t *testing.T) {
	f := start(t)
	s, other := f.open(time.Minute), f.open(time.Minute)
	f.create(other, "d0", "0")
	old, kept := f.create(s, "old", "0"), f.create(s, "kept", "0")
	before := f.txns()
	made := make([][]driver.Node, 6)
	var calls []func() error
	for i := range made {
		calls = append(calls, func() (err error) {
			dir := fmt.Sprint("d", i)
			n, all, err := s.CreateList(within(t), dir, "0", []byte(dir))
			if err == nil && (len(all) == 0 || !all[len(all)-1].Same(n) || string(all[len(all)-1].Data) != dir) {
				err = fmt.Errorf("made %+v and listed %+v", n, all)
			}
			made[i] = all
			return err
		})
	}
	calls = append(calls,
		func() error { return s.Delete(within(t), old) },
		func() (err error) { kept, err = s.Update(within(t), kept, []byte("new")); return err })
	for _, outcome := range f.rush(nil, calls...) {
		must(t, receive(t, "a call", outcome))
	}
	if sent := f.txns() - before; sent != 2 { // with the one ahead
		t.Errorf("%d transactions, want 2", sent)
	}
	for i, all := range made {
		want := 1
		if i == 0 {
			want = 2
		}
		listed, err := f.conn.List(within(t), fmt.Sprint("d", i))
		must(t, err)
		if len(all) != want || len(listed) != want || !listed[want-1].Same(all[want-1]) {
			t.Errorf("directory %d: made %+v, listed %+v", i, all, listed)
		}
	}
	f.wantKeys("old", 0)
	listed, err := s.List(within(t), "kept")
	must(t, err)
	if len(listed) != 1 || !listed[0].Same(kept) || string(listed[0].Data) != "new" {
		t.Errorf("updated %+v, listed %+v", kept, listed)
	}
}

// What is made at one time has one revision, by which nodes of one directory could
// not be told apart; and sessions end one by one.
func TestWhoDoesNotShare(t *testing.T) {
	f := start(t)
	s, other := f.open(time.Minute), f.open(time.Minute)
	before := f.txns()
	made := make(chan uint64, 4)
	one := func(s *session, dir, id string) func() error {
		return func() error {
			n, err := s.Create(within(t), dir, id, nil)
			made <- n.Token
			return err
		}
	}
	for _, outcome := range f.rush(nil, one(s, "d", "0"), one(s, "d", "1"), one(s, "d/sub", "0"), one(other, "e", "0")) {
		must(t, receive(t, "a call", outcome))
	}
	if sent := f.txns() - before; sent != 5 {
		t.Errorf("%d transactions, want 5", sent)
	}
	seen := make(map[uint64]bool)
	for range 4 {
		token := <-made
		if seen[token] {
			t.Errorf("two nodes have the token %d", token)
		}
		seen[token] = true
	}
}

// A member whose condition is not met does not keep the others from it.
func TestARefusalIsOfOneAlone(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	there := f.create(s, "a", "0")
	gone := f.create(s, "b", "0")
	f.deleteKey(gone.Key)
	var again, c driver.Node
	outcomes := f.rush(nil,
		func() (err error) { again, err = s.Create(within(t), "a", "0", nil); return err },
		func() error { _, err := s.Update(within(t), gone, nil); return err },
		func() (err error) { c, err = s.Create(within(t), "c", "0", nil); return err })
	must(t, receive(t, "the create of what is there", outcomes[0]))
	wantIs(t, receive(t, "the update of what is gone", outcomes[1]), driver.ErrGone)
	must(t, receive(t, "the other create", outcomes[2]))
	if !again.Same(there) || c.Token == 0 {
		t.Errorf("got %+v and %+v", again, c)
	}
}

func TestASharedReplyIsLost(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	old := f.create(s, "old", "0")
	outcomes := f.rush(f.loseReply,
		func() error { _, err := s.Create(within(t), "a", "0", nil); return err },
		func() error { _, _, err := s.CreateList(within(t), "b", "0", nil); return err },
		func() error { return s.Delete(within(t), old) })
	for _, outcome := range outcomes {
		wantIs(t, receive(t, "a call", outcome), driver.ErrUncertain)
	}
	f.wantKeys("old", 0)
	for _, dir := range []string{"a", "b"} {
		there, err := f.conn.List(within(t), dir)
		must(t, err)
		if n := f.create(s, dir, "0"); len(there) != 1 || !n.Same(there[0]) {
			t.Errorf("made %+v; want %+v", n, there)
		}
	}
	must(t, s.Delete(within(t), old))
}

// Who gives up before its turn has sent nothing, and nothing of it comes later.
func TestWhoGivesUpBeforeItsTurnSendsNothing(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	ctx, cancel := context.WithCancel(within(t))
	gaveUp := make(chan error, 1)
	outcomes := f.rush(func() {
		cancel()
		wantIs(t, receive(t, "the one that gave up", gaveUp), driver.ErrUnavailable, context.Canceled)
	}, func() error {
		_, err := s.Create(ctx, "a", "0", nil)
		gaveUp <- err
		return nil
	}, func() error { _, err := s.Create(within(t), "b", "0", nil); return err })
	must(t, receive(t, "the other", outcomes[1]))
	f.wantKeys("a", 0)
	f.wantKeys("b", 1)
}

// Who gives up after that does not know, and can fence off what is under way. Its
// data is its own again.
func TestWhoGivesUpWhileItsTransactionIsUnderWay(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	ctx, cancel := context.WithCancel(within(t))
	data := []byte("data")
	var land landing
	outcomes := f.rush(func() {
		var held <-chan struct{}
		held, land = f.hold()
		go func() {
			<-held
			cancel()
		}()
	}, func() error { _, err := s.Create(ctx, "a", "0", data); return err },
		func() error { _, err := s.Create(ctx, "b", "0", data); return err })
	for _, outcome := range outcomes {
		wantIs(t, receive(t, "a call", outcome), driver.ErrUncertain, context.Canceled)
	}
	copy(data, "else")
	must(t, s.Abandon(within(t), "a", "0"))
	wantRefused(t, land)
	f.wantKeys("a", 0)
	f.wantKeys("b", 0)
}

// What a session's end refuses it refuses to each, also if it is only now known.
func TestSharingWhenTheSessionIsOver(t *testing.T) {
	f := start(t)
	s, other := f.open(time.Minute), f.open(time.Minute)
	_, err := f.admin.Revoke(within(t), clientv3.LeaseID(s.id))
	must(t, err)
	outcomes := f.rush(nil,
		func() error { _, err := s.Create(within(t), "a", "0", nil); return err },
		func() error { _, err := s.Create(within(t), "b", "0", nil); return err },
		func() error { _, err := other.Create(within(t), "c", "0", nil); return err })
	wantIs(t, receive(t, "one of them", outcomes[0]), driver.ErrSessionLost)
	wantIs(t, receive(t, "the other", outcomes[1]), driver.ErrSessionLost)
	must(t, receive(t, "that of another session", outcomes[2]))
}

func TestCloseWhileOthersWaitToShare(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	closed := make(chan error, 1)
	outcomes := f.rush(func() {
		f.tap.intercept(func(c call) error {
			if c.method != "Txn" {
				return c.pass(c.ctx)
			}
			<-c.ctx.Done()
			return status.FromContextError(c.ctx.Err()).Err()
		})
		go func() { closed <- f.conn.Close() }()
	}, func() error { _, err := s.Create(within(t), "a", "0", nil); return err },
		func() error { _, err := s.Create(within(t), "b", "0", nil); return err })
	for _, outcome := range outcomes {
		wantIs(t, receive(t, "a call", outcome), driver.ErrClosed)
	}
	must(t, receive(t, "Close", closed))
}

// A large transaction is refused by the server as a whole.
func TestLargeOnesDoNotShare(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	large := bytes.Repeat([]byte("x"), driver.MaxData)
	before := f.txns()
	var calls []func() error
	const together = mostSharedBytes / driver.MaxData
	for i := range 3 * together {
		calls = append(calls, func() error { _, err := s.Create(within(t), fmt.Sprint("d", i), "0", large); return err })
	}
	for _, outcome := range f.rush(nil, calls...) {
		must(t, receive(t, "a call", outcome))
	}
	if sent := f.txns() - before; sent != 4 {
		t.Errorf("%d transactions, want 4", sent)
	}
}
