package recipetest_test

import (
	"testing"

	"github.com/coordkit/coordkit/internal/recipetest"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// A test in which one waits for the other, over a driver with every optional
// interface and over one with none.
func Example() {
	_ = func(t *testing.T) {
		recipetest.Bubble(t, "mutex:m", func(w *recipetest.World) {
			lock := func() *recipetest.Attempt[*mutex.Held] {
				m := mutex.New(w.Process().Client, "m")
				return recipetest.Begin(w, func(a *recipetest.Attempt[*mutex.Held]) { a.Held, a.Err = m.Lock(w.Ctx) })
			}
			first, second := lock(), lock()
			recipetest.Blocked(second)
			w.Nodes(2)
			w.OK(first.Granted().Unlock(w.Ctx))
			w.OK(second.Granted().Unlock(w.Ctx))
		})
	}
	// Output:
}
