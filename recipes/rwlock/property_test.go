package rwlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/internal/recipetest"
	"github.com/coordkit/coordkit/recipes/rwlock"
)

// Random schedules of everything that can be done and can go wrong, against a
// model.
func TestRandomSchedules(t *testing.T) {
	recipetest.RandomSchedules(t, dir, func(s *schedule) recipetest.Model[*holding] { return model{s} })
}

// schedule is what goes wrong, and model what is done and what should come of it.
type (
	schedule = recipetest.Schedule[*holding]
	model    struct{ *schedule }
)

// holding is a hold in the model.
type holding struct {
	held
	of     int // the client's number
	writes bool
	write  *rwlock.WriteHeld // nil for a reader
}

func (m model) locker(k int) *rwlock.RWLock { return rwlock.New(m.Clients[k].Client, "l") }

func (m model) Move(i, k, p int) bool {
	switch {
	case p < 34:
		m.acquire(i, k)
	case p < 54:
		m.ReleaseOne()
	case p < 62:
		m.downgrade()
	case p < 69:
		m.reenter(i)
	default:
		return false
	}
	return true
}

// acquire begins one of the four ways to acquire the lock.
func (m model) acquire(number, k int) {
	ctx, cancel := m.CallCtx()
	l := m.locker(k)
	name, call := "RLock", rcall(l.RLock)
	switch p := m.Rand.IntN(10); {
	case p < 4:
		name, call = "Lock", wcall(l.Lock)
	case p == 4:
		name, call = "TryLock", wcall(l.TryLock)
	case p == 5:
		name, call = "TryRLock", rcall(l.TryRLock)
	}
	m.Begin(number, k, name, cancel, func() (*holding, error) { return call(ctx) })
}

func rcall(call func(context.Context) (*rwlock.ReadHeld, error)) func(context.Context) (*holding, error) {
	return func(ctx context.Context) (*holding, error) {
		h, err := call(ctx)
		if err != nil {
			return nil, err
		}
		return &holding{held: h}, nil
	}
}

func wcall(call func(context.Context) (*rwlock.WriteHeld, error)) func(context.Context) (*holding, error) {
	return func(ctx context.Context) (*holding, error) {
		h, err := call(ctx)
		if err != nil {
			return nil, err
		}
		return &holding{held: h, writes: true, write: h}, nil
	}
}

// downgrade begins to make a reader of a writer.
func (m model) downgrade() {
	m.Lock()
	var writers []*holding
	for _, h := range m.Held {
		if h.write != nil {
			writers = append(writers, h)
		}
	}
	m.Unlock()
	if len(writers) == 0 {
		return
	}
	h := writers[m.Rand.IntN(len(writers))]
	ctx, cancel := context.WithTimeout(m.Ctx, time.Duration(m.Rand.IntN(2000))*time.Millisecond)
	m.Begin(-1, h.of, fmt.Sprintf("downgrade the one with token %d", h.Token()), cancel, func() (*holding, error) {
		return rcall(h.write.Downgrade)(ctx)
	})
}

// reenter acquires under a hold's context: to read under any, to write under a
// writer's.
func (m model) reenter(number int) {
	m.Lock()
	defer m.Unlock()
	if len(m.Held) == 0 {
		return
	}
	outer := m.Held[m.Rand.IntN(len(m.Held))]
	l := m.locker(outer.of)
	var h *holding
	var err error
	write := m.Rand.IntN(2) == 0
	if write {
		h, err = wcall(l.Lock)(outer.Context())
	} else {
		h, err = rcall(l.RLock)(outer.Context())
	}
	m.Log("%d: re-enter with %d (to write: %v) under token %d: %v", outer.of, number, write, outer.Token(), err)
	switch {
	case err == nil && h.Token() != outer.Token():
		m.Wrong("re-entered with token %d under %d", h.Token(), outer.Token())
	case err == nil:
		h.writes = outer.writes // what is shared stays what it is
		m.Grant(number, outer.of, h)
	case write && !outer.writes && outer.Err() == nil && !errors.Is(err, rwlock.ErrUpgrade):
		m.Wrong("an upgrade failed with %v", err)
	case (!write || outer.writes) && outer.Err() == nil:
		m.Wrong("re-entry failed with %v", err)
	}
}

// Excuses: what was to be downgraded was unlocked meanwhile, or is held twice.
func (m model) Excuses(err error) bool {
	return errors.Is(err, coord.ErrReleased) || strings.Contains(err.Error(), "only the last hold of it can be downgraded")
}

func (m model) Release(ctx context.Context, h *holding) error { return h.Unlock(ctx) }

// Granted checks that a writer is alone, and that nobody has overtaken anybody
// who stands in its way in the line.
func (m model) Granted(number, k int, h *holding) {
	h.of = k
	if !m.Lives(h) {
		return
	}
	for _, other := range m.Held {
		if other.Token() != h.Token() && (h.writes || other.writes) && m.Lives(other) {
			m.Wrong("%d holds with token %d (to write: %v) beside token %d (to write: %v)",
				number, h.Token(), h.writes, other.Token(), other.writes)
		}
	}
	for _, n := range m.Line() {
		// Seq and token are one in this store. What stands in for a writer may
		// be left of a downgrade that came to nothing: then nobody holds it.
		if n.Seq < h.Token() && (h.writes && queue.Kind(n) != "d" || queue.Kind(n) == "w") {
			m.Wrong("%d has come in with token %d past %s with token %d", number, h.Token(), n.ID, n.Token)
		}
	}
}
