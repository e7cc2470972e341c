package storetest

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/report"
	"github.com/coordkit/coordkit/internal/testserver"
)

// The crowds: in one process, where most handoffs need no store, and spread
// over programs that share nothing but the store.
const (
	crowded  = 1_000
	programs = 20
	// gathering is how many come at a time where not everybody comes at once:
	// each is told of all who stand there, by a store that may take its time.
	gathering = 100
)

func TestCrowdOnMem(t *testing.T) {
	crowd(t, "mem: 10000 waiters in one process", 10_000, 10_000, func() []*coord.Client { return []*coord.Client{benchClient(t)} }, nil)
}

func TestCrowdOnEtcd(t *testing.T) {
	s := startEtcd(t, testserver.EtcdOptions{})
	crowdIn(t, s, 1)
	crowdIn(t, s, programs)
}

// crowdIn has everybody come at once, in so many programs, which connect
// directly.
func crowdIn(t *testing.T, s *store, programs int) {
	t.Helper()
	crowd(t, fmt.Sprintf("%s: %d waiters in %d programs", s.scheme, crowded, programs), crowded, crowded,
		func() []*coord.Client { return s.dialAll(t, programs) }, nil)
}

func (s *store) dialAll(t testing.TB, n int) (clients []*coord.Client) {
	t.Helper()
	for range n {
		clients = append(clients, s.dial(t, patient, hosts(s.Endpoints()...)...))
	}
	return clients
}

// tapAll makes taps for as many programs, on a machine each.
func (s *store) tapAll(t testing.TB, n int, server func(*tap, io.Reader)) (taps []*tap) {
	t.Helper()
	for range n {
		taps = append(taps, newTap(t, s.machine(), hosts(s.Endpoints()...)[0], ears{server: server}))
	}
	return taps
}

func (s *store) dialTaps(t testing.TB, taps []*tap) (clients []*coord.Client) {
	t.Helper()
	for _, p := range taps {
		clients = append(clients, s.dial(t, patient, p.addr()))
	}
	return clients
}

// A release notifies the next in line and, in a line as long as this, the one behind
// that, if another program has to be told, and nobody else but the program itself.
func TestCrowdOnZooKeeper(t *testing.T) {
	s := startZooKeeper(t, testserver.ZooKeeperOptions{})
	crowdIn(t, s, 1)
	taps := s.tapAll(t, programs, hearEvents)
	crowd(t, fmt.Sprintf("zk: %d waiters in %d programs", crowded, programs), crowded, crowded,
		func() []*coord.Client { return s.dialTaps(t, taps) },
		func(c cost) {
			total, own := 0, 0
			told := make(map[string]int) // others, by path
			for _, p := range taps {
				for what, n := range p.soFar() {
					if path, mine := strings.CutPrefix(what, ownEvent); mine {
						own += n
						if n > 1 {
							t.Errorf("the release of its %s was told to a program %d times", path, n)
						}
					} else {
						total += n
						told[what] += n
					}
				}
			}
			for path, n := range told {
				if n > 2 {
					t.Errorf("the release of %s was told to %d others", path, n)
				}
			}
			if total < c.crossed {
				t.Errorf("%d notifications of others; the lock went %d times from one program to another", total, c.crossed)
			}
			if own > c.waiters+1 {
				t.Errorf("%d notifications of one's own releases; there were %d", own, c.waiters+1)
			}
			report.Show(t, "zk: notifications", fmt.Sprintf("%d releases; of %d another program had to be told: %d notifications; of one's own: %d",
				c.waiters+1, c.crossed, total, own))
		})
}

// At Consul's default limits no request of anybody is refused, whether all wait
// on one machine or on many. Of many there are fewer: each program reads the whole line
// again and again, and here they share two processors.
func TestCrowdOnConsul(t *testing.T) {
	s := startConsul(t, testserver.ConsulOptions{})
	for machines, waiters := range map[int]int{1: crowded, programs: crowded / 4} {
		taps := s.tapAll(t, machines, hearStatus)
		raft := newRaft(t, s)
		var clients []*coord.Client
		crowd(t, fmt.Sprintf("consul: %d waiters in %d programs", waiters, machines), waiters, gathering,
			func() []*coord.Client {
				clients = s.dialTaps(t, taps)
				for _, c := range clients {
					if _, err := c.Session(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				raft.mark(t)
				return clients
			},
			func(c cost) {
				heard, most := make(map[string]int), 0
				for _, p := range taps {
					for status, n := range p.soFar() {
						heard[status] += n
					}
					most = max(most, p.peak())
				}
				if n := heard["429 Too Many Requests"]; n > 0 {
					t.Errorf("%d requests were refused", n)
				}
				// What was sent again, as its answer took too long, makes an
				// entry each time, and the second one is in conflict.
				again := 2 * heard["409 Conflict"]
				raft.want(t, fmt.Sprintf("a crowd in %d programs", machines), c.waiters+1, machines+again)
				report.Show(t, "consul: answers", fmt.Sprintf("%v; at most %d connections of a program at a time", heard, most))
			})
	}
}

func BenchmarkCrowdOnMem(b *testing.B) {
	benchCrowd(b, func(b testing.TB) *coord.Client { return benchClient(b) }, 10_000)
}

func BenchmarkCrowdOnEtcd(b *testing.B) {
	etcd := testserver.StartEtcd(b, testserver.EtcdOptions{})
	benchCrowd(b, func(b testing.TB) *coord.Client { return etcdClient(b, etcd) }, 1_000)
}

func benchCrowd(b *testing.B, open func(testing.TB) *coord.Client, waiters int) {
	var last cost
	for b.Loop() {
		c := open(b)
		last = stand(b, waiters, waiters, c)
		if err := c.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(last.heap, "heap-B/waiter")
	b.ReportMetric(last.stack, "stack-B/waiter")
	b.ReportMetric(last.goroutines, "goroutines/waiter")
	b.ReportMetric(float64(last.drain.Nanoseconds())/float64(waiters), "ns/handoff")
}

func benchClient(t testing.TB) *coord.Client {
	c, err := coord.New(mem.NewStore().Open("bench"), coord.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

func etcdClient(t testing.TB, etcd *testserver.Etcd) *coord.Client {
	c, err := coord.Open(context.Background(), "etcd://"+strings.Join(hosts(etcd.Endpoints()...), ",")+"/test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}
