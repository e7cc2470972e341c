package harness_test

import (
	"context"
	"fmt"

	"github.com/coordkit/coordkit/conformance/harness"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// The least that a harness says. What it leaves out is filled in.
func ExampleHarness_Complete() {
	store := mem.NewStore()
	h, err := harness.Harness{
		Name: "mem",
		TTL:  mem.MinTTL,
		Open: func(_ context.Context, namespace string) (driver.Conn, error) { return store.Open(namespace), nil },
	}.Complete()
	fmt.Println(h.Expiry > h.TTL, h.Timeout > h.Expiry, err)
	_, err = harness.Harness{Name: "nothing"}.Complete()
	fmt.Println(err)
	// Output:
	// true true <nil>
	// invalid: conformance: the harness has no Open
	// invalid: conformance: the harness's TTL is 0s; want a positive time that the store grants
}
