package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// landed makes a call that creates (dir, "0") and whose reply is lost, gives
// the call up as soon as the node is there, and returns the node.
func (t *Trial) landed(s driver.Session) (n driver.Node) {
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	done := t.Go(func() { _, _, _ = t.create(ctx, s, dir, "0", t.someData()) })
	there := t.comes(t.h.TTL/2, func() error {
		if found := t.mine(s, dir, "0"); len(found) == 1 {
			n = found[0]
			return nil
		}
		return errors.New("not yet")
	})
	cancel()
	t.within(100*time.Millisecond, done) // if it does not return, that is for B1
	if !there {
		t.mustLive(s)
		t.NotVerified("the request did not get through the link")
	}
	return n
}

// giveUpCreate makes a Create that is to be swallowed by a fault.
func (t *Trial) giveUpCreate(s driver.Session, id string) {
	_ = t.briefly(func(ctx context.Context) error { _, _, err := t.create(ctx, s, dir, id, t.someData()); return err })
}

// replyLost lets a Create have its effect without its caller hearing of it. Before the
// next one others join behind it.
func replyLost(t *Trial, fault func(Link)) {
	s, l := t.SessionOverLink()
	t.Bystander(dir)
	fault(l)
	landed := t.landed(s)
	t.heal(l)
	t.Create(t.Session(), dir, "behind")
	t.Create(s, dir, "1")
	if n := t.Create(s, dir, "0"); !n.Same(landed) {
		t.Fatalf("the reply to Create was lost; called again it returned %s and not %s, which it had made", show(n), show(landed))
	}
	t.settles(t.only(s, "0", landed))
}

// requestLate gives up a Create whose request is delivered afterwards.
func requestLate(t *Trial) {
	s, l := t.SessionOverLink()
	t.Bystander(dir)
	l.Freeze(netfault.Up)
	t.giveUpCreate(s, "0")
	t.heal(l)
	n := t.Create(s, dir, "0")
	t.settles(t.only(s, "0", n))
}

// requestOvertaken lets the request of the first Create land after the second
// was acknowledged, and once more after its node was deleted.
func requestOvertaken(t *Trial) {
	s, l := t.SessionOverLink()
	t.Bystander(dir)
	release := t.hold(l)
	t.giveUpCreate(s, "0")
	n := t.Create(s, dir, "0")
	release()
	t.settles(t.only(s, "0", n))

	release = t.hold(l)
	t.giveUpCreate(s, "1")
	n = t.Create(s, dir, "1")
	t.Delete(s, n)
	release()
	t.settles(t.none(s, dir, "1"))
}

// requestsOvertaken gives up Creates of many slots, and the Abandon of one, before all are
// made again and deleted. Then all land, the first ones last.
func requestsOvertaken(t *Trial) {
	s, l := t.SessionOverLink()
	t.Bystander(dir)
	var ids []string
	for i := range manyInDoubt {
		ids = append(ids, fmt.Sprint(i))
	}
	var releases []func()
	for _, id := range ids {
		releases = append(releases, t.hold(l))
		t.giveUpCreate(s, id)
	}
	releases = append(releases, t.hold(l))
	_ = t.briefly(func(ctx context.Context) error { return s.Abandon(ctx, dir, "0") })
	for _, id := range ids {
		t.Delete(s, t.Create(s, dir, id))
	}
	for _, release := range slices.Backward(releases) {
		release()
	}
	t.settles(func() error {
		var there []error
		for _, id := range ids {
			there = append(there, t.none(s, dir, id)())
		}
		return errors.Join(there...)
	})
}

// requestsOfTwoSlots lets a Create go on while one of another slot, which was given up,
// is made good: what a driver does against the late request of the one must not hit the
// other.
func requestsOfTwoSlots(t *Trial) {
	s, l := t.SessionOverLink()
	t.Bystander(dir)
	var n driver.Node
	releaseFirst := t.hold(l)
	first := t.Go(func() { n = t.Create(s, dir, "0") })
	t.sleep(t.h.TTL / 16) // for its request to be on its way
	releaseSecond := t.hold(l)
	t.giveUpCreate(s, "1")
	m := t.Create(s, dir, "1")
	releaseFirst()
	t.join("Create while another slot is made good", first)
	t.Delete(s, m)
	releaseSecond()
	t.settles(func() error { return errors.Join(t.only(s, "0", n)(), t.none(s, dir, "1")()) })
}

// createUnderResets resets the connection while requests and replies are on
// their way.
func createUnderResets(t *Trial) {
	s, l := t.SessionOverLink()
	delay := t.h.TTL / 200
	l.Delay(netfault.Both, delay)
	for i := range 12 {
		id := fmt.Sprint(i)
		var n driver.Node
		done := t.Go(func() { n = t.Create(s, dir, id) })
		for range i % 4 {
			t.sleep(delay * 3 / 4)
			l.DropConnections()
		}
		t.join("Create while connections are reset", done)
		t.Eventually(t.patience(), t.only(s, id, n))
	}
}

// createManyUnderResets makes many nodes at a time, some of them by the plain Create,
// while connections are reset. In between they go: some deleted, some abandoned.
func createManyUnderResets(t *Trial) {
	const rounds, slots = 4, 8
	s, l := t.SessionOverLink()
	delay := t.h.TTL / 200
	l.Delay(netfault.Both, delay)
	for round := range rounds {
		nodes := make([]driver.Node, slots)
		var creating, leaving []<-chan struct{}
		for i := range slots {
			creating = append(creating, t.Go(func() {
				if id := fmt.Sprint(i); i%4 > 0 {
					nodes[i] = t.Create(s, dir, id)
				} else {
					t.insist(s, "Create "+dir+" "+id, func() (err error) {
						nodes[i], err = s.Create(t.ctx, dir, id, nil)
						return err
					})
				}
			}))
		}
		for range round {
			t.sleep(delay * 3 / 4)
			l.DropConnections()
		}
		t.join("one of many calls of Create at a time while connections are reset", creating...)
		t.Eventually(t.patience(), func() error {
			var errs []error
			for i, n := range nodes {
				errs = append(errs, t.only(s, fmt.Sprint(i), n)())
			}
			return errors.Join(errs...)
		})
		for i, n := range nodes {
			leaving = append(leaving, t.Go(func() {
				if i%2 == 0 {
					t.Delete(s, n)
				} else {
					t.abandon(s, fmt.Sprint(i))
				}
			}))
		}
		t.join("Delete and Abandon of many nodes at a time", leaving...)
	}
}
