package drivertest

import (
	"context"
	"errors"
	"testing"
	"time"
)

// Patience bounds what must happen. It is reached only by what is broken.
const Patience = 30 * time.Second

// Within returns a context that ends when Patience has passed, or with the test.
func Within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// Must ends the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// WantIs ends the test unless err Is each of those wanted.
func WantIs(t testing.TB, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		if !errors.Is(err, w) {
			t.Fatalf("got the error %v; want one that is %q", err, w)
		}
	}
}

// Eventually polls what sends no event, and ends the test if it does not come to
// hold within Patience.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", Patience, what)
		}
	}
}

// Receive returns what comes from c, and ends the test if nothing does within
// Patience.
func Receive[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	late := time.NewTimer(Patience)
	defer late.Stop()
	// If both are ready, either is true: what is that late is as good as broken.
	select {
	case v := <-c:
		return v
	case <-late.C:
		t.Fatalf("not within %v: %s", Patience, what)
		panic("unreachable")
	}
}
