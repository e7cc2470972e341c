package mutex_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/recipetest"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// Somebody re-enters while the last hold is being released: either it holds,
// and the entry stays until it unlocks, or it fails.
func TestReentryRacesUnlock(t *testing.T) {
	ctx := t.Context()
	store := mem.NewStore()
	client, err := coord.New(store.Open(recipetest.Namespace), coord.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(context.Background())
	m := mutex.New(client, "m")
	for range 3000 {
		outer, err := m.Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var inner *mutex.Held
		var both sync.WaitGroup
		both.Go(func() {
			for {
				h, err := m.Lock(outer.Context())
				if err != nil {
					return
				}
				if inner != nil {
					_ = inner.Unlock(ctx) // the one before
				}
				inner = h
			}
		})
		both.Go(func() { _ = outer.Unlock(ctx) })
		both.Wait()
		if inner == nil {
			continue
		}
		if inner.Err() == nil && store.Stats().Nodes != 1 {
			t.Fatal("a hold says that it is held, and there is no entry in the store")
		}
		_ = inner.Unlock(ctx)
	}
}

// The create got through and the look at the line is refused: what was made is
// not forgotten.
func TestEntryThatCannotBeLookedAtIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := mem.NewStore()
		client, err := coord.New(writeOnly{store.Open(recipetest.Namespace)}, coord.Config{SessionTTL: coord.Duration(ttl)})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close(context.Background())
		for range 3 {
			if _, err := mutex.New(client, "m").Lock(t.Context()); err == nil {
				t.Fatal("Lock succeeded although nobody may list the line")
			}
		}
		synctest.Wait()
		if n := store.Stats().Nodes; n != 0 {
			t.Errorf("%d entries are left", n)
		}
	})
}

// writeOnly is a store on which one may write and not read.
type writeOnly struct{ driver.Conn }

func (c writeOnly) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := c.Conn.OpenSession(ctx, ttl)
	return blind{s}, err
}

type blind struct{ driver.Session }

func (blind) List(context.Context, string) ([]driver.Node, error) {
	return nil, &driver.Error{Op: "list", Kind: driver.ErrDenied}
}

// Whose entry was removed asks the store why. That question, however late it
// arrives, does not hit the next entry of the same slot.
func TestLateQuestionHitsNoLaterHold(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.client()
		held := a.lock()
		late := a.Link().Hold(mem.OpAbandon)
		w.Remove(w.Nodes(1)[0].Key)
		<-late.Caught()
		_ = held.Unlock(w.Ctx)
		again := a.lock()
		late.Release()
		w.Nodes(1)
		time.Sleep(time.Second)
		if again.Err() != nil {
			t.Errorf("the later hold was lost: %v", again.Err())
		}
		w.unlock(again)
	})
}

// The answer to that question is not waited for longer than the caller's ctx.
func TestRemovedWaiterEndsWithItsContext(t *testing.T) {
	bubbleOver(t, false, func(w *world) {
		a, b := w.client(), w.client()
		held := a.lock()
		ctx, cancel := context.WithCancel(w.Ctx)
		waiting := b.locking(ctx)
		late := b.Link().Hold(mem.OpAbandon)
		w.Remove(w.Nodes(2)[1].Key)
		<-late.Caught()
		start := time.Now()
		cancel()
		waiting.Failed(context.Canceled)
		if d := time.Since(start); d > 0 {
			t.Errorf("Lock returned %v after its ctx's end", d)
		}
		late.Release()
		w.unlock(held)
	})
}
