package etcd

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coordkit/coordkit/coord/driver"
)

// wantOnly fails unless a directory holds that one node.
func (f *fixture) wantOnly(dir string, want driver.Node) {
	f.t.Helper()
	nodes, err := f.conn.List(within(f.t), dir)
	must(f.t, err)
	if len(nodes) != 1 || !nodes[0].Same(want) || nodes[0].ID != want.ID || nodes[0].Session != want.Session {
		f.t.Fatalf("%s holds %+v; want %+v", dir, nodes, want)
	}
	f.wantKeys(dir, 1)
}

// wantKnown fails if a session remembers more names than it has nodes and has
// given up.
func wantKnown(t *testing.T, s *session, want int) {
	t.Helper()
	s.names.mu.Lock()
	defer s.names.mu.Unlock()
	if len(s.names.known) != want {
		t.Errorf("%d names are known; want %d", len(s.names.known), want)
	}
}

func TestNamesAreUsedAgain(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	for range 3 {
		n := f.create(s, "d", "0")
		if want := f.node("d", s.id, "0"); n.Key != want {
			t.Errorf("made %s; want %s", n.Key, want)
		}
		wantKnown(t, s, 1)
		must(t, s.Delete(within(t), n))
		wantKnown(t, s, 0)
	}
	must(t, s.Abandon(within(t), "d", "0"))
	f.create(s, "d", "0")
	must(t, s.Abandon(within(t), "d", "0"))
	wantKnown(t, s, 0)
}

// Nothing is remembered of a node that was updated, whatever became of it.
func TestNamesOfUpdated(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	for _, end := range []func(n driver.Node){
		func(n driver.Node) { must(t, s.Delete(within(t), n)) },
		func(n driver.Node) { must(t, s.Abandon(within(t), n.Dir, n.ID)) },
		func(n driver.Node) { // removed by somebody, and not made again
			f.deleteKey(n.Key)
			f.tap.intercept(func(call) error { return status.Error(codes.PermissionDenied, "etcdserver: permission denied") })
			defer f.tap.intercept(nil)
			_, err := s.Create(within(t), n.Dir, n.ID, nil)
			wantIs(t, err, driver.ErrDenied)
		},
	} {
		n := f.create(s, "d", "0")
		_, err := s.Update(within(t), n, []byte("b"))
		must(t, err)
		end(n)
		wantKnown(t, s, 0)
	}
}

// A deletion whose caller gave up arrives after the next create of the slot.
func TestLateDeleteSparesTheNextNode(t *testing.T) {
	for _, again := range []int{0, 1} { // times that it is tried again before
		t.Run(fmt.Sprint(again), func(t *testing.T) {
			f := start(t)
			s := f.open(time.Minute)
			n := f.create(s, "d", "0")
			land := f.abort(func(ctx context.Context) error { return s.Delete(ctx, n) })
			for range again {
				must(t, s.Delete(within(t), n))
				f.wantKeys("d", 0)
			}
			for range 2 { // the slot goes on with the other name
				next := f.create(s, "d", "0")
				wantRefused(t, land)
				f.wantOnly("d", next)
				if next.Key == n.Key || next.Token <= n.Token {
					t.Errorf("made %+v after %+v", next, n)
				}
				must(t, s.Delete(within(t), next))
				f.wantKeys("d", 0)
			}
			wantKnown(t, s, 1)
		})
	}
}

// Likewise when a Create that found the node was lost, and the deletion asked for the
// node's token.
func TestLateDeleteOfANodeThatWasFound(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	f.loseReply()
	_, err := s.Create(within(t), "d", "0", nil)
	wantIs(t, err, driver.ErrUncertain)
	land := f.abort(func(ctx context.Context) error { return s.Delete(ctx, n) })
	next := f.create(s, "d", "0")
	wantRefused(t, land)
	f.wantOnly("d", next)
	must(t, s.Delete(within(t), next))
	f.wantKeys("d", 0)
}

// The next create does not wait for a deletion that is under way.
func TestCreateOvertakesADelete(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	held, land := f.hold()
	ctx, cancel := context.WithCancel(within(t))
	deleting := make(chan error, 1)
	go func() { deleting <- s.Delete(ctx, n) }()
	receive(t, "the deletion", held)
	next := f.create(s, "d", "0")
	f.wantOnly("d", next)
	cancel()
	wantIs(t, receive(t, "the deletion's end", deleting), driver.ErrUncertain)
	wantRefused(t, land)
	f.wantOnly("d", next)
	must(t, s.Delete(within(t), next))
	f.wantKeys("d", 0)
}

// The reply is lost, and with it whether a later one may come.
func TestNameIsGivenUpAfterALostReply(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	f.loseReply()
	wantIs(t, s.Delete(within(t), n), driver.ErrUncertain)
	must(t, s.Delete(within(t), n))
	f.loseReply()
	_, err := s.Create(within(t), "d", "0", nil)
	wantIs(t, err, driver.ErrUncertain)
	next, all, err := s.CreateList(within(t), "d", "0", nil) // finds it
	must(t, err)
	if len(all) != 1 || !all[0].Same(next) || next.ID != "0" {
		t.Errorf("found %+v and listed %+v", next, all)
	}
	if next.Key == n.Key {
		t.Errorf("the name %s is used again", n.Key)
	}
	must(t, s.Delete(within(t), next))
	f.wantKeys("d", 0)
}

// What is given up goes as well when only the deletion has become uncertain.
func TestAbandonAfterAnUncertainDelete(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	land := f.abort(func(ctx context.Context) error { return s.Delete(ctx, n) })
	must(t, s.Abandon(within(t), "d", "0"))
	f.wantKeys("d", 0)
	next := f.create(s, "d", "0")
	wantRefused(t, land)
	f.wantOnly("d", next)
}

// Who removes a node by hand leaves its name to the next, which a deletion of the
// first does not touch.
func TestDeleteOfARemovedNodesNamesake(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	_, err := f.admin.Delete(within(t), n.Key)
	must(t, err)
	next := f.create(s, "d", "0")
	if next.Key != n.Key {
		t.Errorf("made %s; want %s", next.Key, n.Key)
	}
	must(t, s.Delete(within(t), n))
	f.wantOnly("d", next)

	// Likewise while the next one is being created.
	_, err = f.admin.Delete(within(t), next.Key)
	must(t, err)
	f.loseReply()
	_, err = s.Create(within(t), "d", "0", nil)
	wantIs(t, err, driver.ErrUncertain)
	must(t, s.Delete(within(t), next))
	f.wantKeys("d", 1)
}

// A deletion of a node that is long gone comes to nothing while the next node is being
// created, which stays the node of the slot.
func TestUncertainDeleteOfAFormerNode(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	former := f.create(s, "d", "0")
	must(t, s.Delete(within(t), former))
	creating, landed := make(chan struct{}), make(chan struct{})
	f.tap.intercept(func(c call) error {
		f.loseReply() // of the next change
		close(creating)
		<-landed
		return c.pass(c.ctx)
	})
	made := make(chan driver.Node, 1)
	go func() { made <- f.create(s, "d", "0") }()
	receive(t, "the creation", creating)
	wantIs(t, s.Delete(within(t), former), driver.ErrUncertain)
	close(landed)
	n := receive(t, "the node", made)
	if again := f.create(s, "d", "0"); !again.Same(n) {
		t.Errorf("made %+v beside %+v", again, n)
	}
	f.wantOnly("d", n)
	must(t, s.Delete(within(t), n))
	wantKnown(t, s, 0)
}

// A program's own client may have interceptors that send two requests at a time.
func TestClientOfTheProgramsOwnDeletesByTransaction(t *testing.T) {
	f := start(t)
	f.conn.direct = false // as New makes it
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	wantSent(t, "delete", f.tap.during(func() { must(t, s.Delete(within(t), n)) }), sent{"Txn": 1})
	next := f.create(s, "d", "0")
	must(t, s.Delete(within(t), n))
	f.wantOnly("d", next)
}

// Whatever happens to requests: a node that was created is there until it is
// deleted, and is then gone for good, and there is never more than one of a slot.
func TestNamesUnderRandomSchedules(t *testing.T) {
	for range 8 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			f := start(t)
			s := f.open(time.Minute)
			random := rand.New(rand.NewPCG(seed, 0))
			var node driver.Node // that was created and not yet deleted; or none
			var late []landing
			steps := ""
			for range 60 {
				step := random.IntN(6)
				steps += fmt.Sprint(step)
				switch {
				case step == 0 && len(late) > 0:
					_, err := late[random.IntN(len(late))]()
					must(t, err)
				case step == 1:
					must(t, s.Abandon(within(t), "d", "0"))
					node = driver.Node{}
				case step == 2 && node.Key != "":
					_, err := f.admin.Delete(within(t), node.Key)
					must(t, err)
					if random.IntN(2) == 0 {
						must(t, s.Delete(within(t), node))
					}
					node = driver.Node{}
				case node.Key == "":
					if step == 3 {
						late = append(late, f.abort(func(ctx context.Context) error {
							_, err := s.Create(ctx, "d", "0", nil)
							return err
						}))
					}
					node = f.create(s, "d", "0")
				case step == 3:
					late = append(late, f.abort(func(ctx context.Context) error { return s.Delete(ctx, node) }))
					if random.IntN(2) == 0 {
						must(t, s.Delete(within(t), node))
						f.wantKeys("d", 0)
					}
					node = f.create(s, "d", "0")
				case step == 4:
					f.loseReply()
					wantIs(t, s.Delete(within(t), node), driver.ErrUncertain)
					node = f.create(s, "d", "0")
				default:
					must(t, s.Delete(within(t), node))
					node = driver.Node{}
				}
				if node.Key == "" {
					f.wantKeys("d", 0)
				} else {
					f.wantOnly("d", node)
				}
				if t.Failed() {
					t.Fatalf("after the steps %s", steps)
				}
			}
		})
	}
}

// What is deleted together with others, or for a client of the program's own, is
// forgotten too.
func TestNamesOfWhatWasDeletedByTransaction(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	a, b := f.create(s, "a", "0"), f.create(s, "b", "0")
	for _, outcome := range f.rush(nil,
		func() error { return s.Delete(within(t), a) },
		func() error { return s.Delete(within(t), b) }) {
		must(t, receive(t, "a deletion", outcome))
	}
	f.wantKeys("a", 0)
	f.wantKeys("b", 0)
	f.conn.direct = false
	must(t, s.Delete(within(t), f.create(s, "c", "0")))
	wantKnown(t, s, 0)
}

// Two deletions of one node, of which the second is refused when the first has
// been done.
func TestNameIsForgottenByTheLastDeletion(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	held, refuse := make(chan struct{}), make(chan struct{})
	f.tap.intercept(func(c call) error {
		f.tap.intercept(nil)
		close(held)
		<-refuse
		return rpctypes.ErrGRPCRequestTooManyRequests
	})
	second := make(chan error, 1)
	go func() { second <- s.Delete(within(t), n) }()
	receive(t, "the deletion", held)
	must(t, s.Delete(within(t), n))
	close(refuse)
	wantIs(t, receive(t, "the second", second), driver.ErrUnavailable)
	wantKnown(t, s, 0)
}

// Slots whose names were given up share a transaction like others.
func TestGivenUpNamesShare(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	var former []driver.Node
	var calls []func() error
	made := make([]driver.Node, 3)
	for i := range made {
		dir := fmt.Sprint("d", i)
		n := f.create(s, dir, "0")
		f.abort(func(ctx context.Context) error { return s.Delete(ctx, n) })
		former = append(former, n)
		calls = append(calls, func() (err error) {
			var all []driver.Node
			made[i], all, err = s.CreateList(within(t), dir, "0", nil)
			if err == nil && (len(all) != 1 || !all[0].Same(made[i])) {
				err = fmt.Errorf("made %+v and listed %+v", made[i], all)
			}
			return err
		})
	}
	before := f.txns()
	for _, outcome := range f.rush(nil, calls...) {
		must(t, receive(t, "a call", outcome))
	}
	if sent := f.txns() - before; sent != 2 { // with the one ahead
		t.Errorf("%d transactions, want 2", sent)
	}
	for i, n := range made {
		if n.Key == former[i].Key {
			t.Errorf("the name %s is used again", n.Key)
		}
		f.wantOnly(n.Dir, n)
	}
}
