package soak_test

import (
	"context"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/soak"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// In a test there is soak.Test, which fails it.
func Example() {
	store := mem.NewStore()
	harness := conformance.Harness{
		Name: "mem",
		TTL:  500 * time.Millisecond,
		Open: func(_ context.Context, namespace string) (driver.Conn, error) { return store.Open(namespace), nil },
		Expire: func(_ context.Context, _ string, s driver.Session) error {
			store.Expire(s.ID())
			return nil
		},
	}
	result, err := soak.Run(context.Background(), harness, soak.Options{Duration: time.Second})
	if err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%d violations\n%s", len(result.History.Violations()), result.Failure())
	// Output: 0 violations
}
