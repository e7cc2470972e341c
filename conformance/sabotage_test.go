package conformance_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"text/tabwriter"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/internal/sabotage"
	"github.com/coordkit/coordkit/internal/report"
)

// Each sabotaged driver fails the rule that it breaks, and no other; and each
// case of each rule is failed by one. Time is virtual, so that a busy machine
// makes no difference and a TTL costs nothing.
func TestSabotage(t *testing.T) {
	caught := catches{by: make(map[string][]string)}
	t.Run("each", func(t *testing.T) {
		for _, s := range sabotage.All() {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					found, err := conformance.Check(t.Context(), s.Apply(memHarness(time.Second)),
						conformance.Options{Rules: conformance.DriverRules()})
					if err != nil {
						t.Fatal(err)
					}
					checkSabotage(t, s, found)
					caught.add(s.Name, found)
				})
			})
		}
	})
	report.Show(t, "which broken driver each case catches", caught.table(t))
}

// badlyPut is what a value that was not thought of looks like in a report.
var badlyPut = regexp.MustCompile(`%!.|<nil>|0xc[0-9a-f]{9}|: : |returned the error nil`)

// isWellPut wants no such value in a report.
func isWellPut(t *testing.T, found conformance.Report) {
	for _, r := range found.Results {
		if text := badlyPut.FindString(r.Detail); text != "" {
			t.Errorf("the report of %s says %q:\n%s", r.Rule.ID, text, r.Detail)
		}
	}
}

// checkSabotage wants the report to fail the rule that is broken, and no other.
func checkSabotage(t *testing.T, s sabotage.Sabotage, found conformance.Report) {
	isWellPut(t, found)
	holds := true
	for _, r := range found.Results {
		switch {
		case r.Status == conformance.Failed && r.Rule.ID == s.Breaks:
			holds = false
			t.Logf("%s fails: %s", r.Rule.ID, r.Detail)
		case r.Status == conformance.Failed:
			t.Errorf("%s also fails: %s\n%s", r.Rule.ID, r.Rule.Text, r.Detail)
		case r.Status != conformance.Passed:
			t.Logf("%s %v: %s", r.Rule.ID, r.Status, r.Detail)
		}
	}
	if holds {
		t.Errorf("%s holds although it is broken: %s", s.Breaks, s.Doc)
	}
}

// catches collects by which sabotages each case is failed.
type catches struct {
	mu sync.Mutex
	by map[string][]string // names of sabotages, by rule and case
}

func (c *catches) add(name string, found conformance.Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range found.Results {
		for _, res := range r.Cases {
			if res.Status == conformance.Failed {
				id := r.Rule.ID + "/" + res.Name
				c.by[id] = append(c.by[id], name)
			}
		}
	}
}

// table prints them, and fails the test for a case that catches nothing.
func (c *catches) table(t *testing.T) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range conformance.DriverRules() {
		for _, check := range r.Cases {
			names := c.by[r.ID+"/"+check.Name]
			if len(names) == 0 {
				t.Errorf("no sabotage fails %s, %s", r.ID, check.Name)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", r.ID, check.Name, strings.Join(names, ", "))
		}
	}
	if err := w.Flush(); err != nil {
		t.Error(err)
	}
	return b.String()
}

// The reference driver does not list by name. One that does, and soundly, keeps
// every rule.
func TestNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		found, err := conformance.Check(t.Context(), sabotage.Names(memHarness(time.Second)),
			conformance.Options{Rules: conformance.DriverRules()})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range found.Results {
			if r.Status != conformance.Passed || r.Rule.ID == "F4" && r.Absent {
				t.Errorf("%s %v: %s", r.Rule.ID, r.Status, r.Detail)
			}
		}
	})
}
