//go:build !race

// The race detector slows this module's code, and not the servers nor what the
// comparison is about.

package storetest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"
	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/internal/report"
	"github.com/coordkit/coordkit/internal/testserver"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// race is a line of waiters that is drained by this module and by the lock that
// comes with a store's own client, in turns, with as many programs, which have
// a connection or client each.
type race struct {
	*store
	programs int
	waiters  int
	work     time.Duration // how long each keeps the lock
}

// turns is how often each side drains a line. The medians count.
const turns = 3

func TestDrainBesideZooKeepersClient(t *testing.T) {
	s := startZooKeeper(t, testserver.ZooKeeperOptions{})
	for _, n := range []int{1, programs} {
		r := race{store: s, programs: n, waiters: 200}
		r.run(t, "zk.Lock", r.zkLocks)
	}
}

// As api.Lock takes a lock that was given and released again while it looked for
// one under Consul's lock-delay, and pauses for five seconds, each waiter keeps
// it for a moment.
func TestDrainBesideConsulsClient(t *testing.T) {
	s := startConsul(t, testserver.ConsulOptions{})
	r := race{store: s, programs: programs, waiters: 40, work: 5 * time.Millisecond}
	ours, theirs := r.run(t, "api.Lock with sessions at hand", r.consulLocks)
	if ours >= theirs {
		t.Errorf("%d waiters took %v, and %v with api.Lock", r.waiters, ours, theirs)
	}
}

// run returns the median times of both sides.
func (r race) run(t *testing.T, other string, others func(t *testing.T, name string) line) (ours, theirs time.Duration) {
	t.Helper()
	var a, b []time.Duration
	for turn := range turns {
		name := fmt.Sprint("turn", turn)
		a = append(a, r.drain(t, r.ourLocks(t, name)))
		b = append(b, r.drain(t, others(t, name)))
	}
	slices.Sort(a)
	slices.Sort(b)
	ours, theirs = a[turns/2], b[turns/2]
	each := func(d time.Duration) time.Duration {
		return (d / time.Duration(r.waiters)).Round(time.Microsecond)
	}
	report.Show(t, fmt.Sprintf("%s: draining %d waiters in %d programs, each holds for %v", r.scheme, r.waiters, r.programs, r.work),
		fmt.Sprintf("a handoff in %v; with %s in %v; %.2f times as fast", each(ours), other, each(theirs), float64(theirs)/float64(ours)))
	return ours, theirs
}

// line is locks of one name, one for each who stands in it.
type line struct {
	locks    []locker
	standing func() (int, error) // of them in the store
	close    func()
}

// locker is a lock of one that waits, as client libraries have it.
type locker interface {
	Lock() error
	Unlock() error
}

// drain has the waiters stand behind a holder, and returns how long they take
// once it releases.
func (r race) drain(t *testing.T, l line) time.Duration {
	t.Helper()
	defer l.close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	holder := l.locks[0]
	must(t, "Lock", holder.Lock())
	var wg sync.WaitGroup
	for i, waiter := range l.locks[1:] {
		wg.Go(func() {
			if err := waiter.Lock(); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(r.work)
			if err := waiter.Unlock(); err != nil {
				t.Error(err)
			}
		})
		if come := i + 1; come == r.waiters || come%gathering == 0 {
			l.await(ctx, t, come+1)
		}
	}
	time.Sleep(300 * time.Millisecond) // until those who came last watch, too
	start := time.Now()
	must(t, "Unlock", holder.Unlock())
	wg.Wait()
	return time.Since(start)
}

// await returns when so many stand in the line.
func (l line) await(ctx context.Context, t *testing.T, want int) {
	t.Helper()
	for {
		n, err := l.standing()
		must(t, "looking at the line", err)
		if n >= want {
			return
		}
		select {
		case <-time.After(30 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("%d of %d stand in line", n, want)
		}
	}
}

// ourLock is a Mutex as a locker.
type ourLock struct {
	*mutex.Mutex
	ctx  context.Context
	held *mutex.Held
}

func (l *ourLock) Lock() (err error) {
	l.held, err = l.Mutex.Lock(l.ctx)
	return err
}

func (l *ourLock) Unlock() error { return l.held.Unlock(l.ctx) }

func (r race) ourLocks(t *testing.T, name string) line {
	t.Helper()
	clients := r.dialAll(t, r.programs)
	l := line{close: func() { closeAll(t, clients) }}
	for i := range r.waiters + 1 {
		l.locks = append(l.locks, &ourLock{Mutex: mutex.New(clients[i%len(clients)], name), ctx: t.Context()})
	}
	look := mutex.New(clients[0], name)
	l.standing = func() (int, error) {
		c, err := look.Contenders(t.Context())
		return len(c.Holders) + len(c.Waiters), err
	}
	return l
}

func (r race) zkLocks(t *testing.T, name string) line {
	t.Helper()
	root := "/" + name
	var conns []plainZK
	for range r.programs {
		c, err := plainZooKeeper(r.Endpoints()...)
		must(t, "connecting", err)
		conns = append(conns, c)
	}
	var l line
	for i := range r.waiters + 1 {
		l.locks = append(l.locks, gozk.NewLock(conns[i%len(conns)].Conn, root, gozk.WorldACL(gozk.PermAll)))
	}
	l.standing = func() (int, error) {
		names, _, err := conns[0].Children(root)
		return len(names), err
	}
	l.close = func() {
		if err := conns[0].Delete(root, -1); err != nil {
			t.Errorf("deleting %s: %v", root, err)
		}
		for _, c := range conns {
			c.close()
		}
	}
	return l
}

// consulLock is an api.Lock as a locker.
type consulLock struct{ lock *api.Lock }

func (l consulLock) Lock() error {
	_, err := l.lock.Lock(nil)
	return err
}

func (l consulLock) Unlock() error { return l.lock.Unlock() }

func (r race) consulLocks(t *testing.T, name string) line {
	t.Helper()
	var l line
	var clients []*api.Client
	var wires []*http.Transport
	var ends []func() error
	endpoint := r.members[0].Endpoint()
	for range r.programs {
		// Its own transport would keep too few connections.
		wire := &http.Transport{MaxIdleConnsPerHost: r.waiters}
		c, err := api.NewClient(&api.Config{Address: endpoint, HttpClient: &http.Client{Transport: wire}})
		must(t, "making a client", err)
		clients = append(clients, c)
		wires = append(wires, wire)
	}
	for i := range r.waiters + 1 {
		c := clients[i%len(clients)]
		session, _, err := c.Session().CreateNoChecks(&api.SessionEntry{Behavior: api.SessionBehaviorDelete}, nil)
		must(t, "opening a session", err)
		ends = append(ends, func() error {
			_, err := c.Session().Destroy(session, nil)
			return err
		})
		lock, err := c.LockOpts(&api.LockOptions{Key: name, Session: session})
		must(t, "making a lock", err)
		l.locks = append(l.locks, consulLock{lock})
	}
	// Everybody waits on a connection, and the holder watches its lock on one.
	l.standing = func() (int, error) { return connsTo(hosts(endpoint)[0]) }
	l.close = func() {
		for _, end := range ends {
			if err := end(); err != nil {
				t.Errorf("closing: %v", err)
			}
		}
		if _, err := clients[0].KV().Delete(name, nil); err != nil {
			t.Errorf("deleting %s: %v", name, err)
		}
		for _, wire := range wires {
			wire.CloseIdleConnections()
		}
	}
	return l
}
