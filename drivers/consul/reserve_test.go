package consul

import (
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coordkit/coordkit/internal/testserver"
)

// crowdOut takes what connections the agent has left for the machine of a tap,
// as other programs do, until the test is over.
func crowdOut(t *testing.T, p *tap, limit int) {
	t.Helper()
	var refused atomic.Int32
	var reading sync.WaitGroup
	for range 2 * limit {
		c, err := p.dialer.Dial("tcp", p.target)
		must(t, err)
		reading.Go(func() {
			if n, _ := io.ReadFull(c, make([]byte, 1)); n > 0 { // unasked, so it is full
				refused.Add(1)
			}
		})
		t.Cleanup(func() {
			_ = c.Close() // the agent may be first
			reading.Wait()
		})
	}
	eventually(t, "the agent is full", func() bool { return int(refused.Load()) >= limit })
}

// A session is kept also when others take all that an agent has left, while
// everything that its program has is in use.
func TestRenewalsHaveAConnection(t *testing.T) {
	t.Parallel()
	const limit = 20
	consul := testserver.StartConsul(t, testserver.ConsulOptions{
		SessionTTLMin: time.Second,
		ExtraConfig:   map[string]any{"limits": map[string]any{"http_max_conns_per_client": limit}},
	})
	f := startOn(t, consul, defaultTiming)
	s := f.open(6 * time.Second)
	wait := waiting(within(t), s, f.create(s, "d", "0"))
	f.eventuallyWatched(1) // by the connection that the creation has left
	renewals := func() int {
		f.tap.mu.Lock()
		defer f.tap.mu.Unlock()
		return f.tap.count["session renew"]
	}
	crowdOut(t, f.tap, limit)
	began := renewals()
	eventually(t, "it was renewed several times", func() bool { return renewals() >= began+3 || s.Err() != nil })
	must(t, s.Err())
	if n := f.tap.state().refused; n > 0 {
		t.Errorf("the agent has refused %d requests", n)
	}
	pendingStill(t, wait)
}
