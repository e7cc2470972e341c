package queue

import (
	"context"
	"errors"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
)

// Between the release of an entry's last hold and its leaving nobody re-enters
// it: that hold would live until the store has confirmed the leaving, which lets
// the next in line in before.
func TestNoHoldOfWhatWasReleased(t *testing.T) {
	ctx := t.Context()
	client, err := coord.New(mem.NewStore().Open("test"), coord.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(context.Background())
	e, err := New(client, "kind", "name", OneByOne).Acquire(ctx, Request{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := e.Hold(ctx)
	if err != nil {
		t.Fatal(err)
	}
	e.mu.Lock()
	e.released = true // as Release does it before it leaves
	e.mu.Unlock()
	if _, err := e.Hold(ctx); !errors.Is(err, coord.ErrNotHeld) {
		t.Errorf("a hold of what was released: %v; want ErrNotHeld", err)
	}
	if err := e.Release(ctx, h); err != nil {
		t.Error(err)
	}
}
