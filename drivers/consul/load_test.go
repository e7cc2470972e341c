package consul

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
)

// Agents that are given up one after the other, as while there is no leader, do
// not get the same queries again and again: they would keep all of them.
func TestQueriesDoNotMoveWithEveryAgent(t *testing.T) {
	var asked atomic.Int32
	timing := defaultTiming
	timing.watch.wait = time.Hour
	c := fake(t, timing, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-r.Context().Done()
	})
	c.agents.all = append(c.agents.all, c.agents.all[0]) // the same, by another name
	s := fakeSession(t, c)
	wait := waiting(within(t), s, waitedFor("0", 100))
	eventually(t, "it is watched", func() bool { return asked.Load() == 1 })
	c.agents.giveUp(c.agents.current())
	eventually(t, "the next agent is asked", func() bool { return asked.Load() == 2 })
	for range 10 {
		c.agents.giveUp(c.agents.current())
	}
	_, err := c.List(contextWithTimeout(t, 2*time.Second), "d") // it would have been asked by then
	wantIs(t, err, context.DeadlineExceeded)
	if n := asked.Load(); n != 3 { // and the list
		t.Errorf("asked %d times", n)
	}
	pendingStill(t, wait)
}

func contextWithTimeout(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// A query that the agent rejects will not get better by asking again.
func TestRejectedQuery(t *testing.T) {
	c := fake(t, defaultTiming, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte("Invalid query parameter"))
	})
	err := fakeSession(t, c).WaitDelete(within(t), waitedFor("0", 100))
	if err == nil || driver.Transient(err) || !strings.Contains(err.Error(), "Invalid query parameter") {
		t.Errorf("the error is %v", err)
	}
}

// An agent that has no room for more connections gets fewer queries, and every
// wait is served all the same.
func TestTooManyConnections(t *testing.T) {
	const many = 20
	nodes := make([]driver.Node, many)
	for i := range nodes {
		nodes[i] = waitedFor(strconv.Itoa(i), uint64(100+i))
		nodes[i].Dir = "d" + strconv.Itoa(i)
		nodes[i].Key = "ns/" + nodes[i].Dir + "/" + someSession + "-0"
	}
	deleted := make(chan struct{})
	var inside, refused atomic.Int32
	timing := brief()
	timing.watch.wait = 100 * time.Millisecond
	c := fake(t, timing, func(w http.ResponseWriter, r *http.Request) {
		if inside.Add(1) > 5 && r.URL.Query().Has("index") {
			inside.Add(-1)
			refused.Add(1)
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		defer inside.Add(-1)
		var kvs []*api.KVPair
		for _, n := range nodes {
			if strings.HasPrefix("/v1/kv/"+n.Key, r.URL.Path) {
				kvs = append(kvs, entryFor(n, n.Token, n.Token))
			}
		}
		if r.URL.Query().Has("index") {
			timer := time.NewTimer(timing.watch.wait)
			defer timer.Stop()
			select {
			case <-deleted:
				kvs = nil
			case <-r.Context().Done():
			case <-timer.C:
			}
		}
		answerWith(w, 200, kvs...)
	})
	s := fakeSession(t, c)
	var waits []<-chan error
	for _, n := range nodes {
		waits = append(waits, waiting(within(t), s, n))
	}
	eventually(t, "there are fewer queries", func() bool {
		c.watches.mu.Lock()
		defer c.watches.mu.Unlock()
		return refused.Load() > 0 && c.watches.eyes < 5
	})
	close(deleted)
	for _, w := range waits {
		must(t, receive(t, "a wait", w))
	}
	eventually(t, "there may be more again", func() bool {
		c.watches.mu.Lock()
		defer c.watches.mu.Unlock()
		c.watches.meek = time.Time{}
		c.watches.cover(&line{})
		return c.watches.most == maxEyes
	})
}

// Also a call that is refused tells that there are too many.
func TestRefusedCallMakesForFewerQueries(t *testing.T) {
	c := fake(t, defaultTiming, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
	})
	_, err := c.List(within(t), "d")
	wantIs(t, err, driver.ErrUnavailable)
	c.watches.mu.Lock()
	defer c.watches.mu.Unlock()
	if c.watches.most == maxEyes {
		t.Error("there may be as many queries as before")
	}
}
