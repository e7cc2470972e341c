package slate_test

import (
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/examples/slate/slated"
	"github.com/coordkit/coordkit/examples/slate/slatetest"
	"github.com/coordkit/coordkit/internal/drivertest"
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
	// Server and clients are one process, which keeps all processors busy: with more at a time
	// some calls would take longer than they may.
	const most = 12
	for _, part := range []conformance.Options{{Rules: side, Parallel: most}, {Rules: alone, Parallel: 1}} {
		for _, r := range conformance.RunWith(t, slatetest.TCP(server), part).Results {
			if r.Status != conformance.Passed {
				t.Errorf("%s %v", r.Rule.ID, r.Status)
			}
		}
	}
}

// The same in virtual time, on servers inside the process.
func TestVirtual(t *testing.T) {
	open := func(t *testing.T) conformance.Harness {
		h, stop := slatetest.Memory(time.Second)
		t.Cleanup(stop)
		return h
	}
	drivertest.Virtual(t,
		drivertest.Variant{Name: "driver", Rules: conformance.DriverRules(), Open: open},
		drivertest.Variant{Name: "calls", Rules: drivertest.Random("G1"), Open: open},
		drivertest.Variant{Name: "recipes", Rules: conformance.RecipeRules(), Open: open},
		drivertest.Variant{Name: "programs", Rules: drivertest.Random("G2"), Open: open},
	)
}
