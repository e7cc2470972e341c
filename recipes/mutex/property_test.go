package mutex_test

import (
	"context"
	"slices"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/recipetest"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// Random schedules of everything that can be done and can go wrong, against a
// model.
func TestRandomSchedules(t *testing.T) {
	recipetest.RandomSchedules(t, line, func(s *schedule) recipetest.Model[*mutex.Held] { return model{s} })
}

// schedule is what goes wrong, and model what is done and what should come of it.
type (
	schedule = recipetest.Schedule[*mutex.Held]
	model    struct{ *schedule }
)

func (m model) Move(i, k, p int) bool {
	switch {
	case p < 38:
		m.lock(i, k, "lock", (*mutex.Mutex).Lock)
	case p < 44:
		m.lock(i, k, "try", (*mutex.Mutex).TryLock)
	case p < 68:
		m.ReleaseOne()
	default:
		return false
	}
	return true
}

func (m model) lock(number, k int, what string, call func(*mutex.Mutex, context.Context) (*mutex.Held, error)) {
	ctx, cancel := m.CallCtx()
	m.Begin(number, k, what, cancel, func() (*mutex.Held, error) { return call(mutex.New(m.Clients[k].Client, "m"), ctx) })
}

func (m model) Excuses(error) bool { return false }

func (m model) Release(ctx context.Context, h *mutex.Held) error { return h.Unlock(ctx) }

// Granted checks that one holds at a time, and that nobody was overtaken.
func (m model) Granted(number, _ int, h *mutex.Held) {
	living := 0
	for _, other := range m.Held {
		if m.Lives(other) {
			living++
		}
	}
	if living > 1 {
		m.Wrong("%d hold the lock", living)
	}
	line := m.Line()
	if own := slices.IndexFunc(line, func(n driver.Node) bool { return n.Token == h.Token() }); own > 0 {
		m.Wrong("%d was granted with %d ahead of it", number, own)
	}
}
