package conformance

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// Run checks the driver of a harness as subtests of t: t.Name()/Harness.Name/
// rule/case, so that go test -run selects rules and cases. It returns the
// report of those selected when all have ended.
//
// A rule that is broken, or waived without need, fails. A rule that could not
// be verified logs NOT VERIFIED and has that as the attribute "conformance" of
// its subtest. It does not fail, because a driver author cannot always cause
// the fault; a test that wants everything verified looks into the report.
func Run(t *testing.T, h Harness) Report {
	t.Helper()
	return RunWith(t, h, Options{})
}

// RunWith is Run with options.
func RunWith(t *testing.T, h Harness, o Options) Report {
	t.Helper()
	start := time.Now()
	r, err := newRunner(h, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.stop()
	if o.Crash == nil {
		o.Crash = os.Stderr
	}
	if r.notes, err = newCrashNotes(r.h, r.rules, r.seed, o.Crash); err != nil {
		t.Logf("if the driver ends the process there will be no report: %v", err)
	}
	results := make([]*Result, len(r.rules))
	var reporting sync.Mutex
	t.Run(r.h.Name, func(t *testing.T) {
		for i, rule := range r.rules {
			t.Run(rule.ID, func(t *testing.T) {
				r.subtest(t, rule, func(res Result) {
					reporting.Lock()
					defer reporting.Unlock()
					results[i] = &res
					if o.OnResult != nil {
						o.OnResult(res)
					}
				})
			})
		}
	})
	report := Report{Harness: r.h.Name, Took: time.Since(start)}
	for _, res := range results {
		if res != nil { // selected by -run
			report.Results = append(report.Results, *res)
		}
	}
	var table strings.Builder
	_, _ = report.WriteTo(&table) // a Builder takes everything
	t.Logf("\n%s", table.String())
	return report
}

// subtest runs a rule under t.
//
// The cases are to run side by side, and more of them than the machine has
// processors, for most only wait; -parallel would not let them. So each is
// begun before its subtest calls Parallel, and what runs in parallel, whenever
// its turn comes, is the waiting for results.
func (r *runner) subtest(t *testing.T, rule Rule, done func(Result)) {
	waiver := r.h.Waive[rule.ID]
	var mu sync.Mutex
	results := make(map[int]CaseResult)
	t.Cleanup(func() { // runs after the subtests of the cases
		var selected []CaseResult
		for i := range rule.Cases {
			if res, ok := results[i]; ok {
				selected = append(selected, res)
			}
		}
		res := judge(rule, selected, "")
		if res.Status == Failed || len(selected) == len(rule.Cases) {
			res = judge(rule, selected, waiver) // a part that passes proves no waiver wrong
		}
		t.Attr("conformance", res.Status.String())
		if waiver != "" && res.Status == Failed {
			t.Errorf("%s", res.Detail)
		}
		done(res)
	})
	for i, c := range rule.Cases {
		t.Run(c.Name, func(t *testing.T) {
			pending := r.start(t.Context(), rule, c)
			t.Parallel()
			res := <-pending
			mu.Lock()
			results[i] = res
			mu.Unlock()
			t.Attr("conformance", res.Status.String())
			switch {
			case res.Status == Failed && waiver == "":
				t.Errorf("%s is broken: %s\n%s", rule.ID, rule.Text, res.Detail)
			case res.Status == Failed:
				t.Logf("%s is broken, which is waived (%s): %s\n%s", rule.ID, waiver, rule.Text, res.Detail)
			case res.Status == NotVerified:
				t.Logf("%s is NOT VERIFIED: %s\n%s", rule.ID, rule.Text, res.Detail)
			case res.Detail != "":
				t.Log(res.Detail)
			}
		})
	}
	t.Parallel()
}
