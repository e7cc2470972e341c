package foreign

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/internal/testserver"
)

// patience bounds every wait of these tests. It is reached only when something
// is broken, or when the network is slow on the first run.
const patience = 3 * time.Minute

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// peers are those that this package has.
var peers = map[string]func(context.Context, []string, *testserver.TLSFiles) (*Peer, error){"kazoo": Kazoo, "curator": Curator}

// withPeers runs a test with each peer on a server of its own.
func withPeers(t *testing.T, test func(t *testing.T, p *Peer, zk *testserver.ZooKeeper)) {
	for name, open := range peers {
		t.Run(name, func(t *testing.T) {
			zk := testserver.StartZooKeeper(t, testserver.ZooKeeperOptions{})
			p, err := open(patient(t), []string{zk.Members[0].Endpoint()}, zk.TLS)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			})
			test(t, p, zk)
		})
	}
}

func TestCases(t *testing.T) {
	withPeers(t, func(t *testing.T, p *Peer, _ *testserver.ZooKeeper) {
		if !strings.HasPrefix(strings.ToLower(p.Version), p.Name+" ") || strings.Contains(p.Version, "unknown") {
			t.Errorf("the version is %q, expected it to begin with %s and its number", p.Version, p.Name)
		}
		for _, c := range []struct {
			Case
			clients int
		}{
			{Case{Name: Uncontended, Seconds: 0.2}, 1},
			{Case{Name: Contention, Clients: 3, Seconds: 0.3}, 3},
			{Case{Name: Drain, Clients: 2, Waiters: 15}, 2},
			{Case{Name: Keys, Keys: 5, Seconds: 0.2}, 1},
			{Case{Name: Semaphore, Clients: 5, Limit: 2, Seconds: 0.2}, 5},
			{Case{Name: ReadWrite, Clients: 4, Seconds: 0.2}, 4}, // of Curator
			{Case{Name: Election, Seconds: 0.2}, 1},
		} {
			r, err := p.Run(patient(t), c.Case)
			if c.Name == ReadWrite && p.Name == "kazoo" {
				if err == nil || !strings.Contains(err.Error(), "for ever") {
					t.Errorf("%s: %v, expected why kazoo does not do that", c.Name, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %d operations in %.3f s, by client %v, %d handoffs", c.Name, r.Ops, r.Seconds, r.PerClientOps, len(r.HandoffMicros))
			sum := 0
			for _, n := range r.PerClientOps {
				sum += n
			}
			if r.Ops < 1 || sum != r.Ops || len(r.PerClientOps) != c.clients {
				t.Errorf("%s: %d operations, by client %v, expected some and the same by %d", c.Name, r.Ops, r.PerClientOps, c.clients)
			}
			times := r.LatenciesMicros
			if c.Name != ReadWrite { // of readers that enter together one may take no time at all
				times = append(times, r.HandoffMicros...)
			}
			if r.Seconds < c.Seconds || slices.Min(times) <= 0 {
				t.Errorf("%s: the times %v s, %v and %v µs are not as they pass", c.Name, r.Seconds, r.LatenciesMicros, r.HandoffMicros)
			}
			latencies, handoffs := len(r.LatenciesMicros), len(r.HandoffMicros)
			switch c.Name {
			case Drain: // behind a holder each is handed the lock
				if r.Ops != c.Waiters || handoffs != c.Waiters || latencies != 0 {
					t.Errorf("%s: %d operations, %d handoffs and %d latencies, expected %d, as many and none", c.Name, r.Ops, handoffs, latencies, c.Waiters)
				}
			case Contention:
				if latencies != r.Ops || handoffs == 0 {
					t.Errorf("%s: %d operations, %d latencies, %d handoffs, expected as many and some", c.Name, r.Ops, latencies, handoffs)
				}
			case Semaphore, ReadWrite: // of several holders it is not known who made room for whom
				if latencies != r.Ops {
					t.Errorf("%s: %d operations, %d latencies, expected as many", c.Name, r.Ops, latencies)
				}
			default: // nobody waits
				if latencies != r.Ops || handoffs != 0 {
					t.Errorf("%s: %d operations, %d latencies, %d handoffs, expected as many and none", c.Name, r.Ops, latencies, handoffs)
				}
			}
		}
	})
}

func TestTLS(t *testing.T) {
	for name, open := range peers {
		t.Run(name, func(t *testing.T) {
			zk := testserver.StartZooKeeper(t, testserver.ZooKeeperOptions{TLS: true})
			p, err := open(patient(t), []string{zk.Members[0].Endpoint()}, zk.TLS)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = p.Close() })
			if r, err := p.Run(patient(t), Case{Name: Uncontended, Seconds: 0.1}); err != nil || r.Ops == 0 {
				t.Errorf("%d locks, %v", r.Ops, err)
			}
		})
	}
}

// Who follows is elected when the process of the leaders is gone, and not before.
func TestLeadAndFollow(t *testing.T) {
	for name, open := range peers {
		t.Run(name, func(t *testing.T) {
			zk := testserver.StartZooKeeper(t, testserver.ZooKeeperOptions{})
			var both []*Peer
			for range 2 {
				p, err := open(patient(t), []string{zk.Members[0].Endpoint()}, zk.TLS)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = p.Close() })
				both = append(both, p)
			}
			c := Case{Name: Lead, Clients: 3, Path: "/keys", Session: 2 * time.Second}
			r, err := both[0].Run(patient(t), c)
			if err != nil || len(r.ElectedMicros) != 3 {
				t.Fatalf("%+v, %v, expected three leaders", r, err)
			}
			c.Name = Follow
			followed := make(chan error, 1)
			c.Begin = func() { followed <- nil }
			go func() {
				r, err = both[1].Run(patient(t), c)
				followed <- err
			}()
			if err := <-followed; err != nil { // its clients are connected
				t.Fatal(err)
			}
			killed := time.Now()
			if err := both[0].Close(); err != nil {
				t.Fatal(err)
			}
			if err := <-followed; err != nil {
				t.Fatal(err)
			}
			for _, at := range r.ElectedMicros {
				if took := time.UnixMicro(at).Sub(killed); took < 0 || took > time.Minute {
					t.Errorf("elected %v after the leader was killed", took)
				}
			}
		})
	}
}

// An error of the library is told, and the next case runs.
func TestErrorIsOfTheCaseAlone(t *testing.T) {
	withPeers(t, func(t *testing.T, p *Peer, zk *testserver.ZooKeeper) {
		if err := zk.Member(0).Kill(); err != nil {
			t.Fatal(err)
		}
		_, err := p.Run(patient(t), Case{Name: Uncontended, Seconds: 0.1})
		if want := "no connection to " + zk.Member(0).Endpoint(); err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("without a server: %v, expected an error with %q", err, want)
		}
		if err := errors.Join(zk.Member(0).Restart(), zk.WaitHealthy(patient(t))); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Run(patient(t), Case{Name: Uncontended, Seconds: 0.1}); err != nil {
			t.Error(err)
		}
	})
}

func TestContextEndsTheCaseAndTheWorker(t *testing.T) {
	withPeers(t, func(t *testing.T, p *Peer, _ *testserver.ZooKeeper) {
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(nil)
		if _, err := p.Run(ctx, Case{Name: Uncontended, Seconds: 0.1}); !errors.Is(err, context.Canceled) {
			t.Errorf("before the case: %v, want %v", err, context.Canceled)
		}
		if _, err := p.Run(patient(t), Case{Name: Uncontended, Seconds: 0.1}); err != nil {
			t.Errorf("after a case that did not begin: %v", err)
		}

		ctx, cancel = context.WithCancelCause(t.Context())
		timer := time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
		defer timer.Stop()
		if _, err := p.Run(ctx, Case{Name: Uncontended, Seconds: 1000}); !errors.Is(err, why) {
			t.Errorf("during the case: %v, want %v", err, why)
		}
		if _, err := p.Run(patient(t), Case{Name: Uncontended, Seconds: 0.1}); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("after it: %v, expected an error that the worker was killed", err)
		}
	})
}

func TestClose(t *testing.T) {
	withPeers(t, func(t *testing.T, p *Peer, _ *testserver.ZooKeeper) {
		done := make(chan error, 1)
		go func() {
			_, err := p.Run(patient(t), Case{Name: Uncontended, Seconds: 1000})
			done <- err
		}()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, errClosed) {
			t.Errorf("the case that ran: %v, want %v", err, errClosed)
		}
		if _, err := p.Run(patient(t), Case{Name: Uncontended, Seconds: 0.1}); !errors.Is(err, errClosed) {
			t.Errorf("a case after it: %v, want %v", err, errClosed)
		}
		if err := p.Close(); err != nil {
			t.Errorf("again: %v", err)
		}
	})
}

// Whoever dies closes the worker's input.
func TestWorkerEndsWithItsInput(t *testing.T) {
	withPeers(t, func(t *testing.T, p *Peer, _ *testserver.ZooKeeper) {
		done := make(chan error, 1)
		go func() {
			_, err := p.Run(patient(t), Case{Name: Uncontended, Seconds: 1000})
			done <- err
		}()
		if err := p.stdin.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err == nil || !strings.Contains(err.Error(), "the worker has ended") {
			t.Errorf("the case that ran: %v, expected an error that the worker has ended", err)
		}
		if state := p.cmd.ProcessState; state == nil || !state.Success() {
			t.Errorf("the worker's end is %v, expected that it ended by itself", state)
		}
	})
}
