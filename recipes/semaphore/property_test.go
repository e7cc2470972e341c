package semaphore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

// Random schedules of everything that can be done and can go wrong, against a
// model. The seed is in the subtest's name; COORDKIT_SOAK takes new ones.
func TestRandomSchedules(t *testing.T) {
	first, count := uint64(1), uint64(60)
	if os.Getenv("COORDKIT_SOAK") != "" {
		first, count = rand.Uint64()>>1, 2000
	}
	for name, plain := range map[string]bool{"fast": false, "plain": true} {
		for seed := first; seed < first+count; seed++ {
			t.Run(fmt.Sprintf("%s/seed %d", name, seed), func(t *testing.T) {
				bubbleOver(t, plain, func(w *world) { newSchedule(w, seed).run() })
			})
		}
	}
}

// schedule is one random schedule with its model.
type schedule struct {
	w       *world
	rng     *rand.Rand
	began   time.Time
	clients []*client
	sems    []*semaphore.Semaphore
	limit   int  // as configured
	changes bool // SetLimit is called

	mu      sync.Mutex
	most    int // the highest limit so far
	held    []*semaphore.Held
	waiting []*waiter
	doomed  map[uint64]bool // tokens of entries that somebody removes
	ended   map[string]bool // sessions that the store ends
	history strings.Builder
	failed  bool
}

type waiter struct {
	number int
	cancel context.CancelFunc
}

func newSchedule(w *world, seed uint64) *schedule {
	s := &schedule{w: w, rng: rand.New(rand.NewPCG(seed, 0)), began: time.Now(),
		doomed: make(map[uint64]bool), ended: make(map[string]bool)}
	s.limit = 1 + s.rng.IntN(5)
	s.most = s.limit
	s.changes = s.rng.IntN(2) == 0
	for range 4 {
		c := w.client()
		s.clients = append(s.clients, c)
		s.sems = append(s.sems, c.semaphore(s.limit))
	}
	return s
}

func (s *schedule) log(format string, args ...any) {
	fmt.Fprintf(&s.history, "%8v  %s\n", time.Since(s.began).Round(time.Millisecond), fmt.Sprintf(format, args...))
}

// wrong reports the first violation with what led to it.
func (s *schedule) wrong(format string, args ...any) {
	if !s.failed {
		s.failed = true
		s.w.Errorf("%s; limit %d; the history:\n%s", fmt.Sprintf(format, args...), s.limit, s.history.String())
	}
}

func (s *schedule) run() {
	for i := range 120 {
		s.step(i)
		if s.rng.IntN(3) > 0 {
			synctest.Wait()
		}
	}
	for _, c := range s.clients {
		if err := c.conn.Link().Heal(); err != nil {
			s.w.Fatal(err)
		}
	}
	for range 400 { // everybody is served, once all is well
		for s.release() {
		}
		time.Sleep(time.Second)
		s.mu.Lock()
		left := len(s.waiting)
		s.mu.Unlock()
		if left == 0 {
			break
		}
	}
	for s.release() {
	}
	time.Sleep(2 * ttl) // sessions that were opened and whose client does not know
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) > 0 {
		s.wrong("%d are still waiting; the line: %v", len(s.waiting), s.w.line())
		for _, w := range s.waiting {
			w.cancel()
		}
	}
}

func (s *schedule) step(i int) {
	k := s.rng.IntN(len(s.clients))
	link := s.clients[k].conn.Link()
	switch p := s.rng.IntN(100); {
	case p < 36:
		s.acquire(i, k, false)
	case p < 46:
		s.acquire(i, k, true)
	case p < 68:
		s.release()
	case p < 74:
		s.mu.Lock()
		if n := len(s.waiting); n > 0 {
			w := s.waiting[s.rng.IntN(n)]
			s.log("cancel %d", w.number)
			w.cancel()
		}
		s.mu.Unlock()
	case p < 77:
		s.remove()
	case p < 78:
		s.expire(k)
	case p < 81:
		op := []mem.Op{mem.OpCreate, mem.OpDelete, mem.OpList, mem.OpWait, mem.OpAbandon}[s.rng.IntN(5)]
		if s.rng.IntN(2) == 0 {
			s.note("%d: next reply to %s is lost", k, op)
			link.DropNextReply(op)
		} else {
			s.note("%d: next request to %s is lost", k, op)
			link.LoseNextRequest(op)
		}
	case p < 83:
		d := mem.Direction(1 + s.rng.IntN(3))
		s.note("%d: freeze %v", k, d)
		link.Freeze(d)
	case p < 84:
		s.note("%d: cut", k)
		link.Cut()
	case p < 85:
		s.note("%d: reset", k)
		link.DropConnections()
	case p < 89:
		s.note("%d: heal", k)
		_ = link.Heal()
	case p < 92 && s.changes:
		s.setLimit(k)
	default:
		d := time.Duration(s.rng.IntN(1500)) * time.Millisecond
		if s.rng.IntN(10) == 0 {
			d = ttl
		}
		time.Sleep(d)
	}
}

func (s *schedule) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log(format, args...)
}

// release releases something that is held, and reports whether there was.
func (s *schedule) release() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) == 0 {
		return false
	}
	i := s.rng.IntN(len(s.held))
	h := s.held[i]
	s.held = slices.Delete(s.held, i, i+1)
	s.log("release the one with token %d", h.Token())
	go func() {
		ctx, cancel := context.WithTimeout(s.w.ctx, time.Second)
		defer cancel()
		_ = h.Release(ctx) // it goes on if it is not done
	}()
	return true
}

func (s *schedule) remove() {
	synctest.Wait() // whoever was granted is in the model
	line := s.w.line()
	if len(line) == 0 {
		return
	}
	n := line[s.rng.IntN(len(line))]
	s.mu.Lock()
	s.log("remove %s with token %d", n.ID, n.Token)
	s.doomed[n.Token] = true
	s.mu.Unlock()
	s.w.store.Remove(namespace, dir, n.Key)
}

func (s *schedule) expire(k int) {
	synctest.Wait()
	for _, n := range s.w.line() {
		if s.clients[k].owns(n) {
			s.mu.Lock()
			s.log("%d: the store ends session %s", k, n.Session)
			s.ended[n.Session] = true
			s.mu.Unlock()
			s.w.store.Expire(n.Session)
			return
		}
	}
}

// owns reports whether a node is of the client's session, as far as it has one
// without asking the store.
func (c *client) owns(n driver.Node) bool {
	ctx, cancel := context.WithCancel(c.w.ctx)
	cancel()
	s, err := c.Session(ctx)
	return err == nil && s.ID() == n.Session
}

func (s *schedule) setLimit(k int) {
	n := 1 + s.rng.IntN(6)
	s.mu.Lock()
	s.most = max(s.most, n)
	s.log("%d: set the limit to %d", k, n)
	s.mu.Unlock()
	go func() {
		ctx, cancel := context.WithTimeout(s.w.ctx, time.Second)
		defer cancel()
		_ = s.sems[k].SetLimit(ctx, n) // it may not reach the store
	}()
}
