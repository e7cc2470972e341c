package drivertest_test

import (
	"context"
	"testing"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/internal/drivertest"
)

// server is the servers of a store.
type server struct{}

func (*server) Close() error { return nil }

type options struct{ Members int }

func start(context.Context, options) (*server, error) { return new(server), nil }

// What the tests of a driver begin with.
func Example() {
	var triple = drivertest.Share(start, options{Members: 3})
	_ = func(m *testing.M) { // TestMain
		drivertest.Main(m, triple)
	}
	_ = func(t *testing.T) { // TestConformance
		_ = triple.Get(t)
		drivertest.Conforms(t, conformance.Harness{Name: "store, 3 members"}, drivertest.CountsApart()...)
	}
	// Output:
}
