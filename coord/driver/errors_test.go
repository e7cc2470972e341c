package driver_test

import (
	"context"
	"errors"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
)

// late is a context that ends between two looks at it: at its cause, and at its error.
type late struct{ context.Context }

func (late) Err() error { return nil }

func TestContextError(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	if err := driver.ContextError(ctx); err != nil {
		t.Errorf("a context that lives: %v", err)
	}
	cause := errors.New("another lock was lost")
	cancel(cause)
	if err := driver.ContextError(late{ctx}); err != nil {
		t.Errorf("a context that lived when it was asked, and had ended a moment later: %#v", err)
	}
	err := driver.ContextError(ctx)
	if !errors.Is(err, context.Canceled) || errors.Is(err, cause) || err.Error() != "context canceled: another lock was lost" {
		t.Errorf("a context that was cancelled with a cause: %v", err)
	}
	canceled, cancelNow := context.WithCancel(context.Background())
	cancelNow()
	if err := driver.ContextError(canceled); err != context.Canceled {
		t.Errorf("a context that was cancelled without: %v", err)
	}
}
