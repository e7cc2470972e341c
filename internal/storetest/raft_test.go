package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/report"
	"github.com/coordkit/coordkit/internal/testserver"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// raft counts the entries of the log of Consul's servers.
type raft struct {
	client *api.Client
	last   uint64
}

func newRaft(t testing.TB, s *store) *raft {
	t.Helper()
	c, err := plainConsul(s.members[0].Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	return &raft{client: c}
}

// mark begins to count, and returns how many entries there were since it did so
// the last time. It makes an entry of its own, whose index is the log's, and one
// to be gone again.
func (r *raft) mark(t testing.TB) (entries int) {
	t.Helper()
	const key = "mark"
	if _, err := r.client.KV().Put(&api.KVPair{Key: key}, nil); err != nil {
		t.Fatal(err)
	}
	kv, _, err := r.client.KV().Get(key, &api.QueryOptions{RequireConsistent: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.client.KV().Delete(key, nil); err != nil {
		t.Fatal(err)
	}
	entries = int(kv.ModifyIndex - r.last - 1)
	r.last = kv.ModifyIndex + 1
	return entries
}

// want allows two entries a cycle, and one in fifty cycles for what the servers
// themselves write into the log now and then; and so many others, such as one
// for each session that was closed meanwhile.
func (r *raft) want(t testing.TB, what string, cycles, others int) {
	t.Helper()
	entries := r.mark(t)
	if entries > 2*cycles+cycles/50+others {
		t.Errorf("%s: %d cycles took %d entries in Raft's log", what, cycles, entries)
	}
	report.Show(t, "consul: Raft, "+what, fmt.Sprintf("%d cycles of acquire and release took %d entries, of which at most %d others", cycles, entries, others))
}

func TestRaftEntriesOnConsul(t *testing.T) {
	s := startConsul(t, testserver.ConsulOptions{})
	r := newRaft(t, s)
	const contenders = 8
	clients := s.dialAll(t, contenders)
	for _, c := range clients {
		cycle(t.Context(), t, c, 1) // opens the session
	}
	const cycles = 800
	r.mark(t)
	cycle(t.Context(), t, clients[0], cycles)
	r.want(t, "nobody else", cycles, 0)
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(func() { cycle(t.Context(), t, c, cycles/contenders) })
	}
	wg.Wait()
	r.want(t, fmt.Sprintf("%d programs contend", contenders), cycles, 0)
}

// cycle acquires and releases a lock.
func cycle(ctx context.Context, t testing.TB, c *coord.Client, times int) {
	m := mutex.New(c, "cycles")
	for range times {
		held, err := m.Lock(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		if err := held.Unlock(ctx); err != nil {
			t.Error(err)
		}
	}
}
