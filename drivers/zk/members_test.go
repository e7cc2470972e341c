package zk

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/testserver"
)

// leaderOf returns the index of the member that leads.
func leaderOf(t *testing.T, z *testserver.ZooKeeper) int {
	t.Helper()
	must(t, z.WaitHealthy(within(t)))
	i, err := z.Leader(within(t))
	must(t, err)
	return i
}

// pinned connects to one member only.
func pinned(t *testing.T, z *testserver.ZooKeeper, member int) *fixture {
	t.Helper()
	return startOn(t, z, []string{z.Member(member).Endpoint()})
}

// A member that is cut off from the others answers pings and reads. It must not
// pass for one that keeps the session.
func TestMemberCutOff(t *testing.T) {
	t.Parallel()
	z := testserver.StartZooKeeper(t, testserver.ZooKeeperOptions{Members: 3, ExtraConfig: unlimited})
	for _, leads := range []bool{false, true} {
		t.Run(fmt.Sprintf("leader %v", leads), func(t *testing.T) {
			leader := leaderOf(t, z)
			alone := leader
			if !leads {
				alone = (leader + 1) % 3
			}
			f := pinned(t, z, alone)
			s := f.open(3 * time.Second)
			f.create(s, "d", "0")
			for i, m := range z.Members {
				if i != alone {
					must(t, m.Freeze())
				}
			}
			start := time.Now()
			asked, cancel := context.WithTimeout(within(t), s.TTL()/6)
			err := agree(asked, s.link)
			cancel()
			if err == nil {
				t.Error("a member agreed with itself")
			}
			receive(t, "Done", s.Done())
			wantIs(t, s.Err(), driver.ErrSessionLost)
			if took := time.Since(start); took > s.TTL()+2*time.Second {
				t.Errorf("the session ended %v after the others were gone; its TTL is %v", took, s.TTL())
			}
			for i, m := range z.Members {
				if i != alone {
					must(t, m.Thaw())
				}
			}
			must(t, z.WaitHealthy(within(t)))
		})
	}
}

// A session outlives the member that it is connected to, and so do its waits.
func TestMemberFails(t *testing.T) {
	t.Parallel()
	z := testserver.StartZooKeeper(t, testserver.ZooKeeperOptions{Members: 3, ExtraConfig: unlimited})
	for name, fault := range map[string]struct {
		fail, mend func(m *testserver.ZooKeeperMember) error
	}{
		"killed": {(*testserver.ZooKeeperMember).Kill, (*testserver.ZooKeeperMember).Restart},
		"frozen": {(*testserver.ZooKeeperMember).Freeze, (*testserver.ZooKeeperMember).Thaw},
	} {
		for _, leads := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, leader %v", name, leads), func(t *testing.T) {
				sick := leaderOf(t, z)
				if !leads {
					sick = (sick + 1) % 3
				}
				f := startOn(t, z, nil)
				s := f.open(15 * time.Second) // half of it is for an election on a busy machine
				n, own := f.create(s, "d", "0"), f.create(s, "d", "1")
				wait, still := waiting(within(t), s, n), waiting(within(t), s, own)
				f.eventuallyArmed(s, n, own)
				for s.link.current().RemoteAddr().String() != z.Member(sick).Endpoint() { // until it is there
					w := s.link.current()
					w.drop()
					eventually(t, "another connection", func() bool { return s.link.current() != w && isUp(s.link) })
				}
				f.eventuallyArmed(s, n, own)
				must(t, fault.fail(z.Member(sick)))
				defer func() {
					must(t, fault.mend(z.Member(sick)))
					must(t, z.WaitHealthy(within(t)))
				}()
				var err error
				for err = driver.ErrUncertain; driver.Transient(err); {
					_, err = s.Create(within(t), "d", "2", nil)
				}
				must(t, err)
				for err = driver.ErrUncertain; driver.Transient(err); {
					err = s.Delete(within(t), n)
				}
				must(t, err)
				must(t, receive(t, "the wait", wait))
				pendingStill(t, still)
				f.eventuallyRenewed(s)
				must(t, s.Err())
				f.wantNames("d", 2)
			})
		}
	}
}

// A member that has not heard of a node yet must not say that it is gone.
func TestWaitOnAMemberThatIsBehind(t *testing.T) {
	z := triple.Get(t)
	leader := leaderOf(t, z)
	f := pinned(t, z, leader)
	other := f.peerOn([]string{z.Member((leader + 1) % 3).Endpoint()})
	owner, waiter := f.open(long), other.open(long)
	var waits sync.WaitGroup
	t.Cleanup(waits.Wait) // also if the test fails in between
	for i := range 300 {
		n := f.create(owner, "d", fmt.Sprint(i%8))
		deleting := make(chan struct{})
		waits.Go(func() {
			err := waiter.WaitDelete(within(t), n)
			select {
			case <-deleting:
			default:
				t.Errorf("the wait for %s returned %v before it was deleted", n.Key, err)
			}
		})
		if i%2 == 0 {
			_, err := waiter.List(within(t), "e") // something to be in between
			must(t, err)
		}
		_, err := owner.Update(within(t), n, []byte("x")) // time to be wrong
		must(t, err)
		close(deleting)
		must(t, owner.Delete(within(t), n))
	}
	waits.Wait()
}

// What an observer lists is not what a member knew some time ago.
func TestObserversOnAnotherMember(t *testing.T) {
	z := triple.Get(t)
	leader := leaderOf(t, z)
	f := pinned(t, z, leader)
	other := f.peerOn([]string{z.Member((leader + 1) % 3).Endpoint()})
	s := f.open(long)
	for i := range 200 {
		n := f.create(s, "d", fmt.Sprint(i%8))
		nodes, err := other.List(within(t), "d")
		must(t, err)
		if len(nodes) != 1 || !nodes[0].Same(n) {
			t.Fatalf("listed %+v; want %+v", nodes, n)
		}
		must(t, s.Delete(within(t), n))
	}
}

// An operator removes a node through the leader. The server of the session may learn of it
// later; Create does not return the node that is gone.
func TestRemovedThroughAnotherMember(t *testing.T) {
	t.Parallel()
	z := testserver.StartZooKeeper(t, testserver.ZooKeeperOptions{Members: 3, ExtraConfig: unlimited})
	leader := leaderOf(t, z)
	f := pinned(t, z, (leader+1)%3)
	operator := newAdmin(t, []string{z.Member(leader).Endpoint()})
	s := f.open(10 * time.Second)
	n := f.create(s, "d", "0")
	for range 300 {
		must(t, operator.Delete(n.Key, -1))
		again := f.create(s, "d", "0")
		if again.Same(n) {
			t.Fatalf("Create returned %v, which had been removed", n)
		}
		n = again
	}
}
