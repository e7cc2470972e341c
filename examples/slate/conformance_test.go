package slate_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/examples/slate/slated"
	"github.com/coordkit/coordkit/examples/slate/slatetest"
)

// The driver keeps every rule, and every rule is verified.
func TestConformance(t *testing.T) {
	server, err := slated.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	var side, alone []conformance.Rule
	for _, r := range conformance.Rules() {
		if r.Counts() { // which slated does for all its clients
			alone = append(alone, r)
		} else {
			side = append(side, r)
		}
	}
	for _, part := range []conformance.Options{{Rules: side}, {Rules: alone, Parallel: 1}} {
		for _, r := range conformance.RunWith(t, slatetest.TCP(server), part).Results {
			if r.Status != conformance.Passed {
				t.Errorf("%s %v", r.Rule.ID, r.Status)
			}
		}
	}
}

// The same in virtual time.
func TestConformanceInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		harness, stop := slatetest.Memory(time.Second)
		defer stop()
		report, err := conformance.Check(t.Context(), harness, conformance.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range report.Results {
			if r.Status != conformance.Passed {
				t.Errorf("%s %v: %s", r.Rule.ID, r.Status, r.Detail)
			}
		}
	})
}
