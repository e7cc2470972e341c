package etcd

import (
	"context"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coordkit/coordkit/coord/driver"
)

// First asks one member, which may be behind what this connection was told by its own
// calls or by the watch. Then it asks again, and this time the majority.
func TestFirstFromAMemberThatIsBehind(t *testing.T) {
	for name, c := range map[string]struct {
		then  func(f *fixture, s *session, ahead, n driver.Node) // after which n is, or is not, the first
		first bool
	}{
		"it shows who was deleted here": {
			then:  func(f *fixture, s *session, ahead, _ driver.Node) { must(t, s.Delete(within(t), ahead)) },
			first: true,
		},
		"it shows who was seen to go": {
			then: func(f *fixture, s *session, ahead, _ driver.Node) {
				wait := waiting(within(t), s, ahead)
				f.eventuallyOpen("d")
				f.deleteKey(ahead.Key)
				must(t, receive(t, "the wait", wait))
			},
			first: true,
		},
		"it shows the node itself, which was deleted here": {
			then: func(f *fixture, s *session, ahead, n driver.Node) {
				must(t, s.Delete(within(t), ahead))
				f.behind()
				must(t, s.Delete(within(t), n))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			s := f.open(time.Minute)
			ahead := f.create(s, "d", "0")
			n := f.create(s, "d", "1")
			f.behind()
			c.then(f, s, ahead, n)
			var first bool
			asked := f.tap.during(func() {
				var err error
				first, err = s.First(within(t), n)
				must(t, err)
			})
			wantSent(t, "first", asked, sent{"Range": 2})
			if first != c.first {
				t.Errorf("first: %v; want %v", first, c.first)
			}
		})
	}
}

// A member that is not behind is asked once.
func TestFirstAsksOneMember(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	ahead, n := f.create(s, "d", "0"), f.create(s, "d", "1")
	for _, want := range []bool{false, true} {
		wantSent(t, "first", f.tap.during(func() {
			first, err := s.First(within(t), n)
			must(t, err)
			if first != want {
				t.Errorf("first: %v; want %v", first, want)
			}
		}), sent{"Range": 1})
		must(t, s.Delete(within(t), ahead))
	}
}

// A backup that was restored may have lower revisions than were told of before. That
// costs a second request once.
func TestFirstAfterARestore(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	f.told.revision.Add(1000)
	for _, want := range []int{2, 1} {
		wantSent(t, "first", f.tap.during(func() {
			if first, err := s.First(within(t), n); !first || err != nil {
				t.Errorf("first: %v, %v", first, err)
			}
		}), sent{"Range": want})
	}
}

// behind has what one member answers by itself come from one that has seen no more
// than this connection was told of by now.
func (f *fixture) behind() {
	seen := f.told.revision.Load()
	f.tap.intercept(func(c call) error {
		r, ok := c.req.(*pb.RangeRequest)
		if !ok || !r.Serializable {
			return c.pass(c.ctx)
		}
		r.Revision = seen
		err := c.pass(c.ctx)
		r.Revision = 0
		if err == nil {
			c.reply.(*pb.RangeResponse).Header.Revision = seen
		}
		return err
	})
}

// The watch of the directory has not told of it yet, but a call has, or another watch.
func TestFirstAfterOtherNews(t *testing.T) {
	for name, news := range map[string]func(f *fixture, s *session, n driver.Node){
		"it was deleted in vain": func(f *fixture, s *session, n driver.Node) { must(f.t, s.Delete(within(f.t), n)) },
		"it was updated in vain": func(f *fixture, s *session, n driver.Node) {
			_, err := s.Update(within(f.t), n, nil)
			wantIs(f.t, err, driver.ErrGone)
		},
		"the watch of its key": func(f *fixture, _ *session, n driver.Node) {
			f.feeds.mu.Lock()
			defer f.feeds.mu.Unlock()
			key := newFeed(spanOf(n.Key), f.dir(n.Dir))
			key.note(n.Key, n.Token+1)
			f.feeds.all[key.span] = key
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			s := f.open(time.Minute)
			n := f.create(s, "d", "0")
			other := f.create(s, "d", "1")
			ctx, leave := context.WithCancel(within(t))
			wait := waiting(ctx, s, other)
			f.eventuallyOpen("d")
			_, err := s.List(within(t), "d")
			must(t, err)
			f.deleteKey(n.Key)
			eventually(t, "the watch tells", func() bool {
				first, err := s.First(within(t), n)
				must(t, err)
				return !first
			})
			f.feeds.mu.Lock() // as if it had not
			d := f.feeds.all[f.dir("d")]
			clear(d.gone)
			d.line.nodes = []standing{{n.Key, n.Token}, {other.Key, other.Token}}
			f.feeds.mu.Unlock()
			if first, err := s.First(within(t), n); !first || err != nil {
				t.Fatalf("first: %v, %v; want true, of what is remembered", first, err)
			}
			news(f, s, n)
			if first, err := s.First(within(t), n); first || err != nil {
				t.Errorf("first: %v, %v; want false", first, err)
			}
			leave()
			receive(t, "the wait", wait)
		})
	}
}

// A deletion that is a transaction, and comes late, finds the node that it was asked
// for and none that Create has returned since.
func TestLateTransactionThatDeletes(t *testing.T) {
	f := start(t)
	f.conn.direct = false
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	var late func()
	f.tap.intercept(func(c call) error {
		r, ok := c.req.(*pb.TxnRequest)
		if ok && late == nil && len(r.Success) == 1 && r.Success[0].GetRequestDeleteRange() != nil {
			late = func() { must(t, c.pass(within(t))) }
			return status.Error(codes.Unavailable, "the reply is lost")
		}
		return c.pass(c.ctx)
	})
	wantIs(t, s.Delete(within(t), n), driver.ErrUncertain)
	again := f.create(s, "d", "0")
	late()
	nodes, err := s.List(within(t), "d")
	must(t, err)
	if len(nodes) != 1 || !nodes[0].Same(again) {
		t.Errorf("listed %+v; want %+v", nodes, again)
	}
	must(t, s.Delete(within(t), again))
}

// asks are ranges that First asked for: of keys alone, and others.
type asks struct{ keys, full int }

// What was written by somebody else may have lost its lease, which a key alone does not
// tell since etcd 3.7: then the node is read, and from then on with its data.
func TestFirstOfWhatWasWritten(t *testing.T) {
	nothing := func(*fixture, *session, driver.Node) {}
	put := func(f *fixture, _ *session, n driver.Node) {
		_, err := f.admin.Put(within(f.t), n.Key, "b")
		must(f.t, err)
	}
	update := func(f *fixture, s *session, n driver.Node) {
		_, err := s.Update(within(f.t), n, []byte("b"))
		must(f.t, err)
	}
	for name, c := range map[string]struct {
		then        func(f *fixture, s *session, n driver.Node)
		alien       bool // it is another session's
		want, older asks // asking twice, and of a server that tells of leases
		first       bool
	}{
		"as it was created": {then: nothing, want: asks{keys: 2}, older: asks{keys: 2}, first: true},
		"updated":           {then: update, want: asks{full: 2}, older: asks{full: 2}, first: true},
		"updated by another session": {
			then:  func(f *fixture, _ *session, n driver.Node) { update(f, f.open(time.Minute), n) },
			want:  asks{1, 2},
			older: asks{keys: 2},
			first: true,
		},
		"written by somebody, without the lease": {then: put, want: asks{1, 2}, older: asks{1, 2}},
		"created again by somebody": {
			then:  func(f *fixture, s *session, n driver.Node) { f.deleteKey(n.Key); put(f, s, n) },
			want:  asks{keys: 2},
			older: asks{keys: 2},
		},
		"another's":          {then: nothing, alien: true, want: asks{full: 2}, older: asks{full: 2}, first: true},
		"another's, written": {then: put, alien: true, want: asks{full: 2}, older: asks{full: 2}},
		"found again": {
			then:  func(f *fixture, s *session, n driver.Node) { update(f, s, n); f.create(s, "d", n.ID) },
			want:  asks{full: 2},
			older: asks{full: 2},
			first: true,
		},
	} {
		for what, older := range map[string]bool{"": false, ", and leases are told": true} {
			t.Run(name+what, func(t *testing.T) {
				f := start(t)
				s := f.open(time.Minute)
				maker := s
				if c.alien {
					maker = f.open(time.Minute)
				}
				n := f.create(maker, "d", "0")
				c.then(f, maker, n)
				var got asks
				f.tap.intercept(func(c call) error {
					r, ok := c.req.(*pb.RangeRequest)
					switch {
					case ok && r.KeysOnly:
						got.keys++
						r.KeysOnly = !older
						defer func() { r.KeysOnly = true }()
					case ok:
						got.full++
					}
					return c.pass(c.ctx)
				})
				for range 2 {
					if first, err := s.First(within(t), n); first != c.first || err != nil {
						t.Errorf("first: %v, %v; want %v", first, err, c.first)
					}
				}
				f.tap.intercept(nil)
				want := c.want
				if older {
					want = c.older
				}
				if got != want {
					t.Errorf("asked for %+v, want %+v", got, want)
				}
				f.deleteKey(n.Key)
			})
		}
	}
}

// One answer is enough that shows another node, whatever was written to that.
func TestFirstOfWhatIsGone(t *testing.T) {
	f := start(t)
	s, other := f.open(time.Minute), f.open(time.Minute)
	ahead := f.create(other, "d", "0")
	_, err := other.Update(within(t), ahead, nil)
	must(t, err)
	n := f.create(s, "d", "0")
	f.deleteKey(n.Key)
	wantSent(t, "first", f.tap.during(func() {
		if first, err := s.First(within(t), n); first || err != nil {
			t.Errorf("first: %v, %v; want false", first, err)
		}
	}), sent{"Range": 1})
}
