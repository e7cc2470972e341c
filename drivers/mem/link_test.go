package mem_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// creating starts a Create of an id.
func (w world) creating(s driver.Session, id string) <-chan error {
	return async(func() error {
		_, err := s.Create(w.ctx, dir, id, nil)
		return err
	})
}

func TestFrozenLinkDeliversInOrder(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		link.Freeze(mem.Up)
		var results []<-chan error
		for i := range 10 {
			results = append(results, w.creating(s, fmt.Sprint(i)))
		}
		w.sees()
		w.ok(link.Heal())
		for _, r := range results {
			w.ok(w.ended(r))
		}
		for i, n := range w.line() {
			if n.ID != fmt.Sprint(i) {
				t.Errorf("%s stands at %d", n.ID, i)
			}
		}
	})
}

func TestFreezeDownAppliesAndHoldsTheReply(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		link.Freeze(mem.Down)
		create := w.creating(s, "0")
		w.pending(create)
		if len(w.line()) != 1 {
			t.Errorf("the line is %v", keys(w.line()))
		}
		link.Thaw(mem.Up) // is not what is frozen
		w.pending(create)
		link.Thaw(mem.Down)
		w.ok(w.ended(create))
	})
}

// A renewal or a creation that was held for longer than its session lives finds
// it over.
func TestRequestsOfAnExpiredSessionLandInVain(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		link.Freeze(mem.Up)
		create := w.creating(s, "0")
		<-s.Done()
		w.is(w.ended(create), driver.ErrUncertain)
		sleep(ttl)
		w.ok(link.Heal())
		if got := w.store.Stats(); got.Sessions != 0 || got.Nodes != 0 {
			t.Errorf("%+v", got)
		}
	})
}

func TestDelayIsPerDirectionAndKeepsTheOrder(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		link.Delay(mem.Up, 300*time.Millisecond)
		link.Delay(mem.Down, 200*time.Millisecond)
		first := w.creating(s, "0")
		sleep(100 * time.Millisecond)
		second := w.creating(s, "1")
		sleep(200*time.Millisecond - 1)
		w.sees()
		sleep(1)
		w.pending(first)
		if line := w.line(); len(line) != 1 || line[0].ID != "0" {
			t.Errorf("after the delay the line is %v", keys(line))
		}
		sleep(200 * time.Millisecond)
		w.ok(w.ended(first))
		w.pending(second)
		link.Delay(mem.Both, -1) // applies to what is on its way
		w.ok(w.ended(second))
	})
}

// A wait returns when the news of the deletion has arrived, and after it the reply
// to the question which node is gone.
func TestDelayHoldsEvents(t *testing.T) {
	bubble(t, func(w world) {
		owner, _ := w.client()
		s, link := w.client()
		n := w.create(owner, "0")
		wait := w.waiting(s, n)
		link.Delay(mem.Down, time.Second)
		w.ok(owner.Delete(w.ctx, n))
		sleep(2*time.Second - 1)
		w.pending(wait)
		sleep(1)
		w.ok(w.ended(wait))
	})
}

func TestBlackholeLosesForGood(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		link.Blackhole(mem.Up)
		lost := w.creating(s, "0")
		w.pending(lost)
		w.ok(link.Heal())
		w.is(w.ended(lost), driver.ErrUncertain) // the connection was reset
		w.sees()
	})
}

func TestDropRepliesAppliesTheRequests(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		link.DropReplies()
		create := w.creating(s, "0")
		w.pending(create)
		if len(w.line()) != 1 {
			t.Error("the request was not applied")
		}
		w.ok(link.Heal())
		w.is(w.ended(create), driver.ErrUncertain)
	})
}

func TestCutFailsWhatIsUnderWayAndRefusesTheRest(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		link.Freeze(mem.Up)
		under := w.creating(s, "0")
		w.pending(under)
		link.Cut()
		w.is(w.ended(under), driver.ErrUncertain)
		w.is(w.ended(w.creating(s, "1")), driver.ErrUnavailable)
		w.ok(link.Heal())
		w.sees() // the one under way was thrown away
		w.ok(w.ended(w.creating(s, "2")))
	})
}

func TestDropConnectionsFailsOnlyWhatIsUnderWay(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		link.Freeze(mem.Down)
		under := w.creating(s, "0")
		w.pending(under)
		link.Thaw(mem.Up)
		link.DropConnections()
		w.is(w.ended(under), driver.ErrUncertain)
		link.Thaw(mem.Down)
		w.ok(w.ended(w.creating(s, "1")))
		if len(w.line()) != 2 {
			t.Errorf("the line is %v", keys(w.line()))
		}
	})
}

func TestFaultsAreMeantForTheirKindOnce(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		link.LoseNextRequest(mem.OpDelete, mem.OpAbandon)
		w.ok(w.ended(w.creating(s, "0")))
		w.is(s.Abandon(w.ctx, dir, "0"), driver.ErrUnavailable)
		w.ok(s.Abandon(w.ctx, dir, "0"))
		w.sees()
		link.DropNextReply() // of any kind but the renewals, of which many go by
		sleep(3 * ttl)
		w.ok(s.Err())
		w.is(w.ended(w.creating(s, "0")), driver.ErrUncertain)
		link.LoseNextRequest(mem.OpRenew)
		sleep(3 * ttl)
		w.ok(s.Err())
	})
}

func TestHealCallsFaultsOff(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		link.LoseNextRequest()
		link.DropNextReply()
		held := link.Hold()
		w.ok(link.Heal())
		w.ok(w.ended(w.creating(s, "0")))
		select {
		case <-held.Caught():
			t.Error("Heal did not call Hold off")
		default:
		}
		held.Release()
	})
}

func TestHeldRequestIsOvertakenAndLandsWhenReleased(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		held := link.Hold(mem.OpCreate)
		early := w.creating(s, "0")
		<-held.Caught()
		w.ok(w.ended(w.creating(s, "1")))
		w.pending(early)
		held.Release()
		w.ok(w.ended(early))
		line := w.line()
		if len(line) != 2 || line[0].ID != "1" || line[1].ID != "0" {
			t.Fatalf("the line is %v", keys(line))
		}
		w.ok(s.Delete(w.ctx, line[1]))
		held.Release() // does nothing
		w.sees(line[0])
	})
}

// A reset fails the caller and not the request, which lands when released even
// on a cut link.
func TestHeldRequestOutlivesTheConnection(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		held := link.Hold(mem.OpCreate)
		early := w.creating(s, "0")
		link.Cut()
		w.is(w.ended(early), driver.ErrUncertain)
		w.sees()
		link.Freeze(mem.Down)
		held.Release()
		if line := w.line(); len(line) != 1 || line[0].ID != "0" {
			t.Errorf("the line is %v", keys(line))
		}
	})
}

func TestReleaseCallsAHoldOffThatCaughtNothing(t *testing.T) {
	bubble(t, func(w world) {
		s, link := w.client()
		link.Hold(mem.OpCreate).Release()
		w.ok(w.ended(w.creating(s, "0")))
	})
}

func TestLinksOfOneStoreAreIndependent(t *testing.T) {
	bubble(t, func(w world) {
		_, broken := w.client()
		s, _ := w.client()
		broken.Cut()
		w.ok(w.ended(w.creating(s, "0")))
	})
}
