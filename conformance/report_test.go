package conformance_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// Groups has all groups of rules in their order, also those that were not run,
// counts as passed what has passed,
// and leaves out what the driver does not offer.
func TestGroups(t *testing.T) {
	var r conformance.Report
	for id, status := range map[string]conformance.Status{
		"S1": conformance.Passed, "S2": conformance.Failed, "S3": conformance.Passed,
		"W1": conformance.Waived, "W2": conformance.NotVerified, "X1": conformance.Passed,
	} {
		r.Results = append(r.Results, conformance.Result{Rule: conformance.Rule{ID: id}, Status: status})
	}
	r.Results = append(r.Results, conformance.Result{Rule: conformance.Rule{ID: "V1"}, Absent: true})
	var names []string
	for _, g := range r.Groups() {
		names = append(names, g.Name)
		want := map[string]conformance.Group{"S": {Name: "S", Passed: 2, Of: 3}, "W": {Name: "W", Of: 2}, "X": {Name: "X", Passed: 1, Of: 1}}[g.Name]
		if want.Name = g.Name; g != want {
			t.Errorf("%+v; want %+v", g, want)
		}
	}
	var order []string
	for _, rule := range conformance.Rules() {
		if name := rule.ID[:1]; !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	if !slices.Equal(names, append(order, "X")) {
		t.Errorf("the groups are %v; want %v and X", names, order)
	}
}

// A report of a machine that was too busy says so.
func TestLateReport(t *testing.T) {
	busy := func(name string, ttl time.Duration) string {
		h := conformance.Harness{Name: name, TTL: ttl, Open: func(context.Context, string) (driver.Conn, error) { return nil, driver.ErrUnsupported }}
		stall := conformance.Rule{ID: "X1", Cases: []conformance.Case{{Name: "stall", Check: func(*conformance.Trial) {
			// Every processor is kept, as by other programs, until timers are late.
			var all sync.WaitGroup
			for range 4 * runtime.GOMAXPROCS(0) {
				all.Go(func() {
					for start := time.Now(); time.Since(start) < 100*time.Millisecond; {
					}
				})
			}
			all.Wait()
		}}}}
		r, err := conformance.Check(t.Context(), h, conformance.Options{Rules: []conformance.Rule{stall}})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if _, err := r.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if text := busy("short TTL", 20*time.Millisecond); !strings.Contains(text, "The machine was too busy") {
		t.Errorf("timers were late, and the report does not say so:\n%s", text)
	}
	if text := busy("long TTL", time.Hour); strings.Contains(text, "busy") {
		t.Errorf("timers were late by little, and the report speaks of it:\n%s", text)
	}
}

// What counts in the store is told apart, for harnesses that must.
func TestRulesThatCount(t *testing.T) {
	var ids []string
	for _, r := range conformance.DriverRules() {
		if r.Counts() {
			ids = append(ids, r.ID)
		}
	}
	if want := []string{"S9", "L2", "L4", "W6", "V5", "N1"}; !slices.Equal(ids, want) {
		t.Errorf("%v count; want %v", ids, want)
	}
}
