package etcd

import (
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

func TestUpdateReplacesTheDataOnly(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	wait := waiting(within(t), s, n)
	f.eventuallyOpen("d")
	u, err := s.Update(within(t), n, []byte("new"))
	must(t, err)
	nodes, err := s.List(within(t), "d")
	must(t, err)
	if !u.Same(n) || u.Seq != n.Seq || string(u.Data) != "new" || len(nodes) != 1 || !nodes[0].Same(n) || string(nodes[0].Data) != "new" {
		t.Errorf("updated %+v to %+v, listed %+v", n, u, nodes)
	}
	pendingStill(t, wait)
	must(t, s.Close(within(t))) // the lease is kept, or wantKeys finds what is left
	f.wantKeys("d", 0)
	wantIs(t, receive(t, "the wait", wait), driver.ErrClosed)
}

func TestUpdateOfAnothersNodeLeavesItToIt(t *testing.T) {
	f := start(t)
	s, other := f.open(time.Minute), f.open(time.Minute)
	n := f.create(other, "d", "0")
	_, err := s.Update(within(t), n, []byte("new"))
	must(t, err)
	must(t, s.Close(within(t)))
	f.wantKeys("d", 1)
	must(t, other.Close(within(t)))
	f.wantKeys("d", 0)

	third := f.open(time.Minute)
	_, err = third.Update(within(t), n, nil)
	wantIs(t, err, driver.ErrGone)
	must(t, third.Err())
}

func TestOnlyTheVeryNodeIsChanged(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	first := f.create(s, "d", "0")
	must(t, s.Delete(within(t), first))
	must(t, s.Delete(within(t), first))
	_, err := s.Update(within(t), first, []byte("revived"))
	wantIs(t, err, driver.ErrGone)
	f.wantKeys("d", 0)

	second := f.create(s, "d", "0")
	_, err = s.Update(within(t), first, []byte("wrong"))
	wantIs(t, err, driver.ErrGone)
	must(t, s.Delete(within(t), first))
	nodes, err := s.List(within(t), "d")
	must(t, err)
	if len(nodes) != 1 || !nodes[0].Same(second) || string(nodes[0].Data) != "0" {
		t.Errorf("listed %+v; want %+v", nodes, second)
	}
}

// A key that somebody has written over is bound to nothing: no list holds it,
// no update revives it, and deleting it clears it away.
func TestNodeWrittenOverByAnOperator(t *testing.T) {
	timing := defaultTiming
	timing.feeds.verify, timing.feeds.tick = 50*time.Millisecond, 5*time.Millisecond
	etcd := single.Get(t)
	f := startOn(t, etcd.ClientConfig(), etcd.ClientConfig(), timing)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	wait := waiting(within(t), s, n)
	f.eventuallyOpen("d")
	_, err := f.admin.Put(within(t), n.Key, "by hand")
	must(t, err)
	nodes, err := s.List(within(t), "d")
	must(t, err)
	if len(nodes) != 0 {
		t.Errorf("listed %+v", nodes)
	}
	_, err = s.Update(within(t), n, nil)
	wantIs(t, err, driver.ErrGone)
	must(t, receive(t, "the wait", wait)) // the check finds out; there was no deletion
	must(t, s.Delete(within(t), n))
	f.wantKeys("d", 0)
}
