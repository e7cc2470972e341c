package etcd

import (
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

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
