package conformance_test

import (
	"context"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// A program checks a driver. Without a way to break the link, E2 cannot be
// verified, and that is what the report says.
func ExampleCheck() {
	store := mem.NewStore()
	harness := conformance.Harness{
		Name: "mem",
		TTL:  time.Second,
		Open: func(_ context.Context, namespace string) (driver.Conn, error) { return store.Open(namespace), nil },
	}
	var rules []conformance.Rule
	for _, r := range conformance.DriverRules() {
		switch r.ID {
		case "C1", "F3", "E2":
			rules = append(rules, r)
		}
	}
	report, err := conformance.Check(context.Background(), harness, conformance.Options{Rules: rules})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range report.Results {
		fmt.Printf("%v: %s %s\n", r.Status, r.Rule.ID, r.Rule.Text)
	}
	// Output:
	// passed: C1 Create makes one node that others see once it is acknowledged.
	// NOT VERIFIED: E2 ErrUnavailable is returned only when the call surely had no effect, and no error Is both that and ErrUncertain.
	// passed: F3 Caps and the optional interfaces agree.
}
