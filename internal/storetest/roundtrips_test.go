package storetest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/report"
	"github.com/coordkit/coordkit/internal/testserver"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// requests are how many there are, by what is wanted with them.
type requests map[string]int

// trips are the requests that the turns of a lock take.
type trips struct {
	acquire requests // of a lock for the first time, or joining behind one's own process
	free    requests // of a free lock from then on
	release requests
	join    requests // behind another program that holds
	farther requests // behind another program that waits
	again   requests // likewise, for a program that waits already
	look    requests // of a waiter when the entry before its blocker is gone
	// Once for each program, when it begins to watch the line.
	begin requests
}

func TestRoundTripsOnEtcd(t *testing.T) {
	s := startEtcd(t, testserver.EtcdOptions{})
	roundTrips(t, s, func() program { return countedEtcd(t, s) }, trips{
		acquire: requests{"transaction": 1},
		free:    requests{"transaction": 1},
		release: requests{"transaction": 1},
		join:    requests{"transaction": 1},
		farther: requests{"transaction": 1},
		again:   requests{"transaction": 1},
		begin:   requests{"read": 1},
	})
}

// What follows an acquire on ZooKeeper, and nobody waits for, is the watch of the own
// entry. A waiter has it already.

func TestRoundTripsOnZooKeeper(t *testing.T) {
	s := startZooKeeper(t, testserver.ZooKeeperOptions{MaxSessionTimeout: lasting})
	roundTrips(t, s, func() program { return tapped(t, s, hearZooKeeper) }, trips{
		acquire: requests{"transaction": 1, "read": 1, "watch": 1},
		free:    requests{"transaction": 1, "watch": 1},
		release: requests{"removal": 1},
		join:    requests{"transaction": 1, "read": 1, "watch": 2},
		farther: requests{"transaction": 1, "read": 1, "watch": 3},
		again:   requests{"transaction": 1, "read": 1, "watch": 2},
		look:    requests{"read": 1},
	})
}

func TestRoundTripsOnConsul(t *testing.T) {
	s := startConsul(t, testserver.ConsulOptions{})
	roundTrips(t, s, func() program { return tapped(t, s, hearConsul) }, trips{
		acquire: requests{"transaction": 1},
		free:    requests{"transaction": 1},
		release: requests{"transaction": 1},
		join:    requests{"transaction": 1},
		farther: requests{"transaction": 1},
		again:   requests{"transaction": 1},
		look:    requests{"read": 1},
	})
}

// lasting is the TTL of sessions whose renewals, and their library's pings, are
// not to be counted among the requests of a test.
const lasting = time.Hour

// program is a program of its own, whose requests are counted.
type program struct {
	*coord.Client
	soFar func() map[string]int
	seen  requests // at the last want
	may   requests // in addition, once
}

func tapped(t *testing.T, s *store, client func(*tap, io.Reader)) program {
	t.Helper()
	p := newTap(t, s.machine(), hosts(s.Endpoints()...)[0], ears{client: client})
	return program{Client: s.dial(t, lasting, p.addr()), soFar: p.soFar}
}

// want compares what was asked for since the last want. What comes too late for
// that is missed here or too much the next time.
func (p *program) want(t *testing.T, what string, want ...requests) {
	t.Helper()
	sum := add(want...)
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		now := requests(p.soFar())
		got := now.since(p.seen)
		// A list that overtakes the creation that it was asked for with is asked
		// for once more.
		if again := got["read"] - sum["read"]; sum["read"] > 0 && 0 < again && again <= sum["transaction"] {
			got["read"] = sum["read"]
		}
		switch {
		case maps.Equal(got, sum):
			p.seen = now
			return
		case p.may != nil && maps.Equal(got, add(sum, p.may)):
			p.seen, p.may = now, nil
			return
		case time.Now().After(end):
			t.Fatalf("%s took %v; want %v", what, got, sum)
		}
	}
}

func add(all ...requests) requests {
	sum := requests{}
	for _, r := range all {
		for kind, n := range r {
			sum[kind] += n
		}
	}
	return sum
}

func (r requests) since(before requests) requests {
	diff := requests{}
	for kind, n := range r {
		if n > before[kind] {
			diff[kind] = n - before[kind]
		}
	}
	return diff
}

func (p *program) lock(ctx context.Context, t *testing.T) *mutex.Held {
	t.Helper()
	held, err := mutex.New(p.Client, "m").Lock(ctx)
	must(t, "Lock", err)
	return held
}

// roundTrips has three programs take turns with a lock.
func roundTrips(t *testing.T, s *store, open func() program, want trips) {
	var joining sync.WaitGroup
	defer joining.Wait() // after cancel: nobody is to fail a test that is over
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	a, b, c := open(), open(), open()
	// This one makes the directory, and is what looks are made by.
	looks := program{Client: s.dial(t, patient, hosts(s.Endpoints()...)...)}
	unlock := func(h *mutex.Held) {
		t.Helper()
		if h == nil {
			t.FailNow() // which is told already
		}
		must(t, "Unlock", h.Unlock(ctx))
	}
	unlock(looks.lock(ctx, t))
	for _, p := range []*program{&a, &b, &c} {
		// Before the counting, sessions are opened, and what etcd watches lines by.
		_, err := p.Session(ctx)
		must(t, "opening a session", err)
		p.seen = p.soFar()
		held := p.lock(ctx, t)
		p.want(t, "the first acquire", want.acquire)
		unlock(held)
		p.want(t, "the first release", want.release)
		p.may = want.begin
	}
	joins := func(p *program, place int) <-chan *mutex.Held {
		t.Helper()
		granted := make(chan *mutex.Held, 1)
		joining.Go(func() {
			held, err := mutex.New(p.Client, "m").Lock(ctx)
			if err != nil {
				t.Error(err)
			}
			granted <- held
		})
		lineOf(ctx, t, mutex.New(looks.Client, "m"), place)
		return granted
	}

	held := a.lock(ctx, t)
	a.want(t, "acquire, free", want.free)
	second := joins(&b, 1)
	b.want(t, "joining behind the holder", want.join)
	third := joins(&c, 2)
	c.want(t, "joining behind another", want.farther)
	b.want(t, "being second while another program joins")
	fourth := joins(&b, 3)
	b.want(t, "joining once more", want.again)

	unlock(held)
	held = <-second
	a.want(t, "release", want.release)
	b.want(t, "handoff to who was second")
	c.want(t, "learning that it is next", want.look)
	unlock(held)
	held = <-third
	b.want(t, "release, and learning that it is next", want.release, want.look)
	c.want(t, "handoff to who was third")
	unlock(held)
	held = <-fourth
	c.want(t, "release", want.release)
	b.want(t, "handoff to who was fourth")

	fifth := joins(&b, 1)
	b.want(t, "joining behind one's own process", want.acquire)
	sixth := joins(&b, 2)
	b.want(t, "joining behind that", want.acquire)
	unlock(held)
	held = <-fifth
	b.want(t, "release and handoff in one process", want.release)
	unlock(held)
	held = <-sixth
	b.want(t, "release and handoff in one process", want.release)
	unlock(held)
	b.want(t, "release", want.release)
	for _, p := range []*program{&a, &b, &c} {
		p.want(t, "the end")
	}
	report.Show(t, s.scheme+": requests", fmt.Sprintf("acquire %v, release %v, join %v or %v, learning that it is next %v, handoff none",
		want.acquire, want.release, want.join, want.farther, want.look))
}
