package conformance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/internal/sabotage"
)

// programs runs G2 in virtual time.
func programs(t *testing.T, h conformance.Harness, seed uint64) (res conformance.Result) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		h, end := closing(h)
		defer end()
		found, err := conformance.Check(t.Context(), h, conformance.Options{Rules: pick(t, "G2"), Exact: true, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		res = found.Results[0]
	})
	return res
}

// A sound driver passes, with its fast paths and without.
func TestPrograms(t *testing.T) {
	for name, h := range variants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r := programs(t, h, 0); r.Status != conformance.Passed {
				t.Errorf("%v: %s", r.Status, r.Detail)
			}
		})
	}
}

// Options.Soak is how long programs run, whatever the time-out of a case.
func TestSoakOption(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, end := closing(memHarness(time.Second))
		defer end()
		h.Timeout = 30 * time.Second
		const long = 2 * time.Minute
		found, err := conformance.Check(t.Context(), h, conformance.Options{Rules: pick(t, "G2"), Soak: long})
		if err != nil {
			t.Fatal(err)
		}
		if r := found.Results[0]; r.Status != conformance.Passed || found.Took < long {
			t.Errorf("%v in %v: %s", r.Status, found.Took, r.Detail)
		}
	})
}

// What is found is printed with its seed.
func TestProgramsPrintTheirSeed(t *testing.T) {
	for _, s := range sabotage.All() {
		if s.Name != "token-restarts" {
			continue
		}
		for seed := range uint64(5) { // most of them find it
			r := programs(t, s.Apply(memHarness(time.Second)), seed+1)
			if r.Status != conformance.Failed {
				continue
			}
			if !strings.Contains(r.Detail, "To repeat it: Options{Seed: ") {
				t.Errorf("no seed in: %s", r.Detail)
			}
			return
		}
		t.Errorf("no program has found it: %s", s.Doc)
		return
	}
	t.Error("the sabotage is not there")
}
