package conformance_test

import (
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance"
)

// A store that can hold no foreign keys keeps the rules about them.
func TestNoForeign(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := memHarness(time.Second)
		h.PlantForeign = conformance.NoForeign
		for _, r := range check(t, h, pick(t, "L2", "V1", "M14")...).Results {
			if r.Status != conformance.Passed {
				t.Errorf("%s %v", r.Rule.ID, r.Status)
			}
		}
	})
}
