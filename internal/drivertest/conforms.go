package drivertest

import (
	"strings"
	"testing"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/internal/report"
)

// Conforms wants every rule verified and none broken, and adds what it finds to
// the report. The suite is run once for each of parts, which are to divide its
// rules, or with all of them if there is none.
func Conforms(t *testing.T, h conformance.Harness, parts ...conformance.Options) {
	t.Helper()
	if len(parts) == 0 {
		parts = []conformance.Options{{}}
	}
	for _, part := range parts {
		found := conformance.RunWith(t, h, part)
		for _, r := range found.Results {
			if r.Status != conformance.Passed {
				t.Errorf("%s %v: %s", r.Rule.ID, r.Status, r.Detail)
			}
		}
		var table strings.Builder
		_, err := found.WriteTo(&table)
		Must(t, err)
		report.Show(t, "conformance of "+h.Name, table.String())
		report.Row(t, "rules that hold, by group", h.Name, found.Groups())
	}
}

// CountsApart are parts for a store that counts something for all its clients and
// not by namespace: the rules that ask for counts are run one at a time, after
// the others.
func CountsApart() []conformance.Options {
	var side, alone []conformance.Rule
	for _, r := range conformance.Rules() {
		if r.Counts() {
			alone = append(alone, r)
		} else {
			side = append(side, r)
		}
	}
	return []conformance.Options{{Rules: side}, {Rules: alone, Parallel: 1}}
}
