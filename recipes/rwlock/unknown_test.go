package rwlock_test

import (
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/recipetest"
)

// Entries of a kind that this version does not know are of a later one, and may
// exclude others: nobody walks past them.
func TestUnknownKindsExclude(t *testing.T) {
	bubble(t, func(w *world) {
		conn := w.Store.Open(recipetest.Namespace)
		defer conn.Close()
		later, err := conn.OpenSession(w.Ctx, ttl)
		w.OK(err)
		reader, waiting, writer := w.client(), w.client(), w.client()
		held := reader.rlock()
		unknown, err := later.Create(w.Ctx, dir, "u0", nil)
		w.OK(err)
		_, err = waiting.locker().TryRLock(w.Ctx)
		w.Is(err, coord.ErrBusy)
		second := waiting.reading(w.Ctx)
		third := writer.writing(w.Ctx)
		blocked(second)
		w.unlock(held)
		blocked(second)
		blocked(third)
		w.OK(later.Delete(w.Ctx, unknown))
		got := second.Granted()
		blocked(third)
		w.unlock(got)
		w.unlock(third.Granted())
	})
}
