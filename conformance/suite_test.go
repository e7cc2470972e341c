package conformance_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// child makes the test binary run a suite of its own, so that a test can look
// at what Run prints and how it fails.
const child = "CONFORMANCE_TEST_CHILD"

// children are such suites, by the value of that variable.
var children = map[string]func(*testing.T){"run": runChild, "crash": crashChild, "crash of Check": crashCheckChild, "crash in the soak": crashSoakChild}

// runAs runs the test binary as a child, and returns what it prints. The child fails.
func runAs(t *testing.T, name string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.parallel=8") // each waits for a result
	cmd.Env = append(os.Environ(), child+"="+name)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("a suite that is to fail ended with %v:\n%s", err, out)
	}
	return string(out)
}

func TestMain(m *testing.M) {
	if run := children[os.Getenv(child)]; run != nil {
		all := func(string, string) (bool, error) { return true, nil }
		testing.Main(all, []testing.InternalTest{{Name: "TestChild", F: run}}, nil, nil) // exits
	}
	goleak.VerifyTestMain(m)
}

// pick returns the rules with the IDs.
func pick(t testing.TB, ids ...string) []conformance.Rule {
	var picked []conformance.Rule
	for _, id := range ids {
		for _, r := range conformance.Rules() {
			if r.ID == id {
				picked = append(picked, r)
			}
		}
	}
	if len(picked) != len(ids) {
		t.Fatalf("not all of %v are rules", ids)
	}
	return picked
}

// check runs rules under virtual time.
func check(t *testing.T, h conformance.Harness, rules ...conformance.Rule) (report conformance.Report) {
	t.Helper()
	report, err := conformance.Check(t.Context(), h, conformance.Options{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != len(rules) {
		t.Fatalf("%d results of %d rules", len(report.Results), len(rules))
	}
	return report
}

// one makes a rule of one case.
func one(check func(*conformance.Trial)) conformance.Rule {
	return conformance.Rule{ID: "X1", Text: "The driver does what the test wants.",
		Cases: []conformance.Case{{Name: "only", Check: check}}}
}

// A driver that hangs fails its case and not the suite, and the failure shows
// where it hangs.
func TestHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := memHarness(time.Second)
		h.Timeout = time.Minute
		release := make(chan struct{})
		defer close(release)
		start := time.Now()
		r := check(t, h, one(func(*conformance.Trial) { hangs(release) })).Results[0]
		if r.Status != conformance.Failed || !strings.Contains(r.Detail, "conformance_test.hangs") || !strings.Contains(r.Detail, "1m0s") {
			t.Errorf("%v: %s", r.Status, r.Detail)
		}
		if took := time.Since(start); took < h.Timeout || took > 2*h.Timeout {
			t.Errorf("it took %v; the time-out is %v", took, h.Timeout)
		}
	})
}

func hangs(release <-chan struct{}) { <-release }

// Nor does one that hangs in Close when all else is done.
func TestHangInCleanup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		r := check(t, memHarness(time.Second), one(func(t *conformance.Trial) { t.Cleanup(func() { <-release }) })).Results[0]
		if r.Status != conformance.Passed {
			t.Errorf("%v: %s", r.Status, r.Detail)
		}
	})
}

func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, rule := range map[string]conformance.Rule{
			"in the check":    one(func(*conformance.Trial) { panic("oops") }),
			"on a goroutine":  one(func(t *conformance.Trial) { <-t.Go(func() { panic("oops") }) }),
			"in a cleanup":    one(func(t *conformance.Trial) { t.Cleanup(func() { panic("oops") }) }),
			"after a failure": one(func(t *conformance.Trial) { t.Cleanup(func() { panic("later") }); t.Fatalf("oops") }),
		} {
			if r := check(t, memHarness(time.Second), rule).Results[0]; r.Status != conformance.Failed || !strings.Contains(r.Detail, "oops") {
				t.Errorf("%s: %v: %s", name, r.Status, r.Detail)
			}
		}
	})
}

func TestStatuses(t *testing.T) {
	passing := func(*conformance.Trial) {}
	failing := func(t *conformance.Trial) { t.Fatalf("broken") }
	unsure := func(t *conformance.Trial) { t.NotVerified("no idea") }
	absent := func(t *conformance.Trial) { t.NotOffered("the option") }
	for _, c := range []struct {
		name   string
		cases  []func(*conformance.Trial)
		waiver string
		status conformance.Status
		detail string // part of it
	}{
		{"all pass", []func(*conformance.Trial){passing, passing}, "", conformance.Passed, ""},
		{"one fails", []func(*conformance.Trial){passing, failing, unsure}, "", conformance.Failed, "broken"},
		{"one is not verified", []func(*conformance.Trial){passing, unsure}, "", conformance.NotVerified, "no idea"},
		{"not offered", []func(*conformance.Trial){absent}, "", conformance.Passed, "nothing to check"},
		{"offered in part", []func(*conformance.Trial){absent, passing}, "", conformance.Passed, "nothing to check"},
		{"waived", []func(*conformance.Trial){passing, failing}, "ticket 7", conformance.Waived, "ticket 7"},
		{"waived without need", []func(*conformance.Trial){passing}, "ticket 7", conformance.Failed, "not needed"},
		{"waived and not verified", []func(*conformance.Trial){passing, unsure}, "ticket 7", conformance.NotVerified, "no idea"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rule := conformance.Rule{ID: "X1", Text: "Something."}
				for i, check := range c.cases {
					rule.Cases = append(rule.Cases, conformance.Case{Name: string(rune('a' + i)), Check: check})
				}
				h := memHarness(time.Second)
				if c.waiver != "" {
					h.Waive = map[string]string{"X1": c.waiver}
				}
				report := check(t, h, rule)
				r := report.Results[0]
				if want := strings.Contains(c.name, "not offered"); r.Absent != want {
					t.Errorf("absent: %v; want %v", r.Absent, want)
				}
				if r.Status != c.status || !strings.Contains(r.Detail, c.detail) || c.detail == "" && r.Detail != "" {
					t.Errorf("%v: %q; want %v: %q", r.Status, r.Detail, c.status, c.detail)
				}
				var table strings.Builder
				if _, err := report.WriteTo(&table); err != nil || !strings.Contains(table.String(), c.status.String()) {
					t.Errorf("the table does not show %v (error: %v):\n%s", c.status, err, table.String())
				}
			})
		})
	}
}

// A harness that can do nothing but open connections leaves rules unverified:
// those about faults wholly, those about other things too in part. None of them
// counts as passed.
func TestNotVerified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := memHarness(time.Second)
		bare := conformance.Harness{Name: "bare", TTL: full.TTL, Expiry: full.Expiry, Open: full.Open}
		rules := conformance.DriverRules()
		for i, r := range check(t, bare, rules...).Results {
			want := conformance.Passed
			for _, c := range rules[i].Cases {
				if c.Needs != 0 {
					want = conformance.NotVerified
				}
			}
			if r.Status != want || want == conformance.NotVerified && !strings.Contains(r.Detail, "the harness has no ") {
				t.Errorf("%s: %v, %q; want %v", r.Rule.ID, r.Status, r.Detail, want)
			}
		}
	})
}

// A harness may pass the namespace on to a driver's New, which checks it. Each case
// has its own.
func TestNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		seen := make(map[string]bool)
		rules := conformance.Rules()
		cases := 0
		for i, r := range rules {
			rules[i].Cases = slices.Clone(r.Cases)
			for j := range r.Cases {
				cases++
				rules[i].Cases[j].Check = func(t *conformance.Trial) {
					if ns, err := driver.Namespace(t.Namespace()); err != nil || ns != t.Namespace() {
						t.Fatalf("namespace %q: %q, %v", t.Namespace(), ns, err)
					}
					mu.Lock()
					defer mu.Unlock()
					seen[t.Namespace()] = true
				}
			}
		}
		found, err := conformance.Check(t.Context(), memHarness(time.Second), conformance.Options{Rules: rules, Exact: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range found.Results {
			if r.Status != conformance.Passed {
				t.Errorf("%s: %s", r.Rule.ID, r.Detail)
			}
		}
		if len(seen) != cases {
			t.Errorf("%d namespaces for %d cases", len(seen), cases)
		}
	})
}

func TestBadHarness(t *testing.T) {
	good := memHarness(time.Second)
	for want, change := range map[string]func(*conformance.Harness){
		"no Name":            func(h *conformance.Harness) { h.Name = "" },
		"no Open":            func(h *conformance.Harness) { h.Open = nil },
		"TTL is 0s":          func(h *conformance.Harness) { h.TTL = 0 },
		`"Z9"`:               func(h *conformance.Harness) { h.Waive = map[string]string{"Z9": "why"} },
		"S1 gives no reason": func(h *conformance.Harness) { h.Waive = map[string]string{"S1": ""} },
	} {
		h := good
		change(&h)
		_, err := conformance.Check(t.Context(), h, conformance.Options{})
		if !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("Check of a harness with %q wrong returned %v", want, err)
		}
	}
}

// What was not checked when the run was stopped is not verified, also when it
// was under way and failed for that.
func TestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		rules := []conformance.Rule{
			one(func(t *conformance.Trial) { cancel(); t.Fatalf("%v", t.Context().Err()) }),
			one(func(*conformance.Trial) {}),
		}
		results := 0
		report, err := conformance.Check(ctx, memHarness(time.Second), conformance.Options{
			Rules: rules, Parallel: 1, OnResult: func(conformance.Result) { results++ },
		})
		if err != nil || results != len(rules) || len(report.With(conformance.NotVerified)) == 0 || len(report.With(conformance.Failed)) > 0 {
			t.Errorf("%d results, error %v: %+v", results, err, report.Results)
		}
	})
}

// Run as its own test: one rule passes, one is broken, one waived, one waived
// without need, one not verified.
func runChild(t *testing.T) {
	h := memHarness(time.Second)
	h.Expire = nil
	h.Waive = map[string]string{"X2": "known", "U3": "outdated"}
	waived := one(func(t *conformance.Trial) { t.Fatalf("broken, but waived") })
	waived.ID = "X2"
	rules := append(pick(t, "C5", "U3", "S4"), one(func(t *conformance.Trial) { t.Fatalf("broken") }), waived)
	conformance.RunWith(t, h, conformance.Options{Rules: rules})
}

func TestRun(t *testing.T) {
	out := runAs(t, "run")
	for _, want := range []string{
		"--- PASS: TestChild/mem/C5/slot_used_again",
		"--- FAIL: TestChild/mem/X1/only",
		"X1 is broken: The driver does what the test wants.",
		"--- FAIL: TestChild/mem/U3 ",
		"--- PASS: TestChild/mem/U3/deleted_twice",
		"its waiver (outdated) is not needed",
		"--- PASS: TestChild/mem/X2/only",
		"X2 is broken, which is waived (known)",
		"S4 is NOT VERIFIED: A session that the store ended",
		"conformance NOT VERIFIED",
		"mem: 5 rules: 1 passed, 2 FAILED, 1 NOT VERIFIED, 1 waived",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("Run does not print %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "the process ended") {
		t.Errorf("Run that came to its end prints that it did not:\n%s", out)
	}
}

// A case that only saw its own time-out has seen nothing, and passes nothing.
func TestCaseCutShortFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := memHarness(time.Second)
		h.Timeout = 10 * time.Second
		rule := conformance.Rule{ID: "X1", Text: "Something never happens.", Cases: []conformance.Case{{
			Name: "watched", Check: func(t *conformance.Trial) { t.Throughout(time.Minute, func() error { return nil }) },
		}}}
		if r := check(t, h, rule).Results[0]; r.Status != conformance.Failed || !strings.Contains(r.Detail, "10s") {
			t.Errorf("a case that was cut short is %v: %s", r.Status, r.Detail)
		}
	})
}
