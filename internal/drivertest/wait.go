package drivertest

import (
	"context"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
)

// Waiting begins a wait, on a goroutine that ends with it, and returns its
// outcome when it comes.
func Waiting(ctx context.Context, s driver.Session, n driver.Node) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.WaitDelete(ctx, n) }()
	return done
}

// PendingStill ends the test if a wait has ended.
func PendingStill(t testing.TB, done <-chan error) {
	t.Helper()
	select { // a look, and not a wait
	case err := <-done:
		t.Fatalf("the wait has ended, with %v", err)
	default:
	}
}
