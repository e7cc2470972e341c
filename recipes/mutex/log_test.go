package mutex_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/recipetest"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// Who reads the log finds out whom an operator has put out, also if the program does
// not say so; and of what is normal the log says nothing at warn.
func TestRemovedEntryIsLogged(t *testing.T) {
	bubble(t, func(w *world) {
		core, logs := observer.New(zapcore.WarnLevel)
		c, err := coord.New(w.Store.Open(recipetest.Namespace), coord.Config{Logger: zap.New(core)})
		w.OK(err)
		defer c.Close(context.Background())
		m := mutex.New(c, "m")

		held, err := m.Lock(w.Ctx)
		w.OK(err)
		w.OK(held.Unlock(w.Ctx))
		if logs.Len() > 0 {
			t.Errorf("a lock that was released is logged: %v", logs.All())
		}
		held, err = m.Lock(w.Ctx)
		w.OK(err)
		w.Remove(w.Nodes(1)[0].Key)
		time.Sleep(time.Second)
		w.Lost(held, coord.ErrRemoved)
		found := logs.FilterField(zap.Uint64("token", held.Token())).FilterField(zap.String("entry", `mutex "m"`)).FilterField(zap.Bool("held", true))
		if found.Len() != 1 || logs.Len() != 1 {
			t.Errorf("a hold that was removed is logged as %v; want one line, with its entry and token", logs.All())
		}
	})
}
