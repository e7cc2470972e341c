package semaphore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/internal/bynames"
	"github.com/coordkit/coordkit/internal/recipetest"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

// Random schedules of everything that can be done and can go wrong, against a
// model.
func TestRandomSchedules(t *testing.T) {
	recipetest.RandomSchedules(t, dir, newModel)
}

// The same where lists are names.
func TestRandomSchedulesByNames(t *testing.T) {
	recipetest.RandomSchedules(t, dir, func(s *schedule) recipetest.Model[*semaphore.Held] {
		var lists bynames.Lists
		for i := range s.Clients {
			s.Clients[i] = s.ProcessOver(lists.Over)
		}
		return newModel(s)
	})
}

// schedule is what goes wrong, and model what is done and what should come of it.
type (
	schedule = recipetest.Schedule[*semaphore.Held]

	model struct {
		*schedule
		sems    []*semaphore.Semaphore
		limit   int  // as configured
		changes bool // SetLimit is called
		most    int  // the highest limit so far; the schedule's lock guards it
	}
)

func newModel(s *schedule) recipetest.Model[*semaphore.Held] {
	m := &model{schedule: s}
	m.limit = 1 + s.Rand.IntN(5)
	m.most = m.limit
	m.changes = s.Rand.IntN(2) == 0
	s.Log("the limit is %d", m.limit)
	for _, c := range s.Clients {
		m.sems = append(m.sems, semaphore.New(c.Client, "s", m.limit))
	}
	s.Cleanup(m.agreed) // before the clients close
	return m
}

// agreed wants one change at most to be kept in the end, and everybody to go by
// it.
func (m *model) agreed() {
	m.Ctx = context.WithoutCancel(m.Ctx) // the test's has ended
	limits := make(map[int]bool)
	for _, sem := range m.sems {
		limit, _, err := sem.Limit(m.Ctx)
		m.OK(err)
		limits[limit] = true
	}
	changes := make(map[string]bool)
	for _, n := range (&world{World: m.World}).of("l") {
		most, _, _ := strings.Cut(string(queue.Value(n)), "@")
		changes[most] = true
	}
	if len(limits) != 1 || len(changes) > 1 || len(changes) == 0 && !limits[m.limit] {
		m.Wrong("the limits are %v, and the changes that are kept %v", limits, changes)
	}
}

func (m *model) Move(i, k, p int) bool {
	switch {
	case p < 36:
		m.acquire(i, k, "acquire", m.sems[k].Acquire)
	case p < 46:
		m.acquire(i, k, "try", m.sems[k].TryAcquire)
	case p < 68:
		m.ReleaseOne()
	case p >= 89 && p < 92 && m.changes:
		m.setLimit(k)
	default:
		return false
	}
	return true
}

func (m *model) acquire(number, k int, what string, call func(context.Context, int) (*semaphore.Held, error)) {
	ctx, cancel := m.CallCtx()
	n := 1 + m.Rand.IntN(m.limit)
	m.Begin(number, k, fmt.Sprintf("%s %d as", what, n), cancel, func() (*semaphore.Held, error) { return call(ctx, n) })
}

func (m *model) setLimit(k int) {
	n := 1 + m.Rand.IntN(6)
	m.Lock()
	m.most = max(m.most, n)
	m.Log("%d: set the limit to %d", k, n)
	m.Unlock()
	go func() {
		ctx, cancel := context.WithTimeout(m.Ctx, time.Second)
		defer cancel()
		_ = m.sems[k].SetLimit(ctx, n) // it may not reach the store
	}()
}

// Excuses: the limit was lowered below what was asked for.
func (m *model) Excuses(err error) bool { return m.changes && errors.Is(err, coord.ErrInvalid) }

func (m *model) Release(ctx context.Context, h *semaphore.Held) error { return h.Release(ctx) }

// Granted checks that what is held is within the limit, and that what stands in
// line up to the one who came in is too, so it has overtaken nobody.
func (m *model) Granted(number, _ int, h *semaphore.Held) {
	sum := 0
	for _, other := range m.Held {
		if m.Lives(other) {
			sum += other.Permits()
		}
	}
	if sum > m.most {
		m.Wrong("%d permits are held of %d", sum, m.most)
	}
	line := m.Line()
	own := slices.IndexFunc(line, func(n driver.Node) bool { return n.Token == h.Token() })
	ahead := 0
	for _, n := range line[:own+1] {
		if queue.Kind(n) == "p" {
			ahead += permits(n)
		}
	}
	if ahead > m.most {
		m.Wrong("%d has come in as the last of %d permits of %d", number, ahead, m.most)
	}
}

func permits(n driver.Node) (permits int) {
	_, _ = fmt.Sscanf(string(queue.Value(n)), "%d/", &permits)
	return permits
}
