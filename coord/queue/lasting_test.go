package queue_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/internal/lasting"
)

// A program makes all its calls under one ctx, which ends with the program. What a call leaves
// with it is not freed until then.
func TestCallsLeaveNothingWithTheirCtx(t *testing.T) {
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		ctx := lasting.New(w.Ctx)
		free := func(after string) {
			t.Helper()
			synctest.Wait()
			if n := ctx.Waiting(); n > 0 {
				t.Errorf("after %s %d contexts or functions wait for the end of its ctx", after, n)
			}
		}
		e, err := a.Acquire(ctx, queue.Request{})
		w.OK(err)
		h, err := e.Hold(ctx)
		w.OK(err)
		free("an acquire")
		_, err = b.TryAcquire(ctx, queue.Request{})
		if err == nil {
			t.Error("two hold")
		}
		free("a try")
		_, err = b.Contenders(ctx, nil)
		w.OK(err)
		free("a look")
		granted := w.begin(func() error {
			next, err := b.Acquire(ctx, queue.Request{})
			if err == nil {
				err = next.Write(ctx, []byte("value"))
			}
			if err == nil {
				err = next.Leave(ctx)
			}
			return err
		})
		w.OK(e.Do(ctx, h, func(context.Context) error { return nil }))
		if err, done := granted(); !done || err != nil {
			t.Errorf("the next acquire: %v, %v", done, err)
		}
		free("a hold, and a wait")
		w.OK(b.Revoke(ctx, e.Node().Token, "gone before"))
		free("a revocation")
	})
}
