package slatetest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/examples/slate/slatetest"
)

// The suite checks the driver on servers inside the process. In a test, the same
// inside synctest.Test takes no time.
func Example() {
	harness, stop := slatetest.Memory(time.Second)
	defer stop()
	var rules []conformance.Rule
	for _, r := range conformance.DriverRules() {
		if r.ID == "C5" || r.ID == "U3" {
			rules = append(rules, r)
		}
	}
	report, err := conformance.Check(context.Background(), harness, conformance.Options{Rules: rules})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range report.Results {
		fmt.Println(r.Rule.ID, r.Status)
	}
	// Output:
	// C5 passed
	// U3 passed
}
