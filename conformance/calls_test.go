package conformance_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/internal/sabotage"
	"github.com/coordkit/coordkit/examples/slate/slatetest"
)

// calls runs G1 in virtual time.
func calls(t *testing.T, h conformance.Harness, programs int) (res conformance.Result) {
	t.Helper()
	found, err := conformance.Check(t.Context(), h, conformance.Options{Rules: pick(t, "G1"), Exact: true, Programs: programs})
	if err != nil {
		t.Fatal(err)
	}
	return found.Results[0]
}

// programsVariable is the environment variable that says how many programs TestCalls
// runs in each case, with each driver.
const programsVariable = "COORDKIT_PROGRAMS"

// Sound drivers pass.
func TestCalls(t *testing.T) {
	programs := 100
	if s := os.Getenv(programsVariable); s != "" {
		var err error
		if programs, err = strconv.Atoi(s); err != nil {
			t.Fatalf("%s: %v", programsVariable, err)
		}
	}
	on := func(h conformance.Harness) func() (conformance.Harness, func()) {
		return func() (conformance.Harness, func()) { return h, func() {} }
	}
	for name, open := range map[string]func() (conformance.Harness, func()){
		"mem":              on(memHarness(time.Second)),
		"mem, plain calls": on(plain(memHarness(time.Second))),
		"mem, with names":  on(sabotage.Names(memHarness(time.Second))),
		"slate":            func() (conformance.Harness, func()) { return slatetest.Memory(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			synctest.Test(t, func(t *testing.T) {
				h, stop := open()
				defer stop()
				if r := calls(t, h, programs); r.Status != conformance.Passed {
					t.Errorf("%v: %s", r.Status, r.Detail)
				}
			})
			t.Logf("%d programs in %v", programs*len(pick(t, "G1")[0].Cases), time.Since(start).Round(time.Millisecond))
		})
	}
}

// A failure says which rule was broken, by what, and how to see it again.
func TestCallsExplain(t *testing.T) {
	for _, s := range sabotage.All() {
		if s.Name != "update-wakes" {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			r := calls(t, s.Apply(memHarness(time.Second)), 0)
			for _, want := range []string{
				"W2 is broken: WaitDelete returns nil for nothing else",
				"<-- this is wrong",
				"it returned nil, and nothing had removed A's ",
				"To repeat it: Options{Seed: ",
			} {
				if r.Status != conformance.Failed || !strings.Contains(r.Detail, want) {
					t.Errorf("%v, and it does not say %q:\n%s", r.Status, want, r.Detail)
				}
			}
		})
		return
	}
	t.Error("the sabotage is not there")
}
