package conformance_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/internal/sabotage"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/examples/slate/slatetest"
	"github.com/coordkit/coordkit/internal/report"
)

// soundDriver is a driver that is broken on purpose.
type soundDriver struct {
	name    string
	harness func(*testing.T) conformance.Harness
	slow    bool // of a broken rule, only the cases that are the sabotage's own are checked
}

// soundDrivers are the reference driver, and one that reaches its store over a network.
func soundDrivers() []soundDriver {
	return []soundDriver{
		{"mem", func(*testing.T) conformance.Harness { return memHarness(time.Second) }, false},
		{"slate", slateHarness, true},
	}
}

// slateHarness is the harness of slate in virtual time, for the bubble of t.
func slateHarness(t *testing.T) conformance.Harness {
	h, stop := slatetest.Memory(time.Second)
	t.Cleanup(stop)
	return h
}

// Each sabotaged driver fails the rule that it breaks and, where all rules are checked, no
// other. Each case of each rule is failed by one, on each driver that offers what the case
// is about. Time is virtual, so that a busy machine makes no difference and a TTL
// costs nothing.
func TestSabotage(t *testing.T) {
	for _, d := range soundDrivers() {
		t.Run(d.name, func(t *testing.T) {
			caught := catches{by: make(map[string][]string)}
			caps := caught.sound(t, d.harness)
			t.Run("each", func(t *testing.T) {
				for _, s := range sabotage.All() {
					if !caps.Has(s.Needs) {
						t.Logf("%s needs a driver that offers %v, of which %s lacks %v", s.Name, s.Needs, d.name, s.Needs&^caps)
						continue
					}
					t.Run(s.Name, func(t *testing.T) {
						t.Parallel()
						bubble(t, func(t *testing.T) {
							rules := toCheck(t, s, d.slow)
							found, err := conformance.Check(t.Context(), s.Apply(d.harness(t)), conformance.Options{Rules: rules, Exact: true})
							if err != nil {
								t.Fatal(err)
							}
							checkSabotage(t, s, found)
							caught.add(s.Name, found)
						})
					})
				}
			})
			report.Show(t, "which broken driver each case catches, of "+d.name, caught.table(t))
		})
	}
}

// toCheck returns the rule that a sabotaged driver breaks, on a slow driver without the
// cases that run the checks of other rules than the one it breaks again. With
// COORDKIT_SOAK it returns all rules.
func toCheck(t *testing.T, s sabotage.Sabotage, slow bool) []conformance.Rule {
	if os.Getenv("COORDKIT_SOAK") != "" {
		return conformance.DriverRules()
	}
	rules := pick(t, s.Breaks)
	if slow && s.Like != "" {
		rules[0].Cases = slices.DeleteFunc(slices.Clone(rules[0].Cases), func(c conformance.Case) bool {
			return !strings.HasPrefix(c.Name, s.Like+" ")
		})
	}
	return rules
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

	absent map[string]bool // rules and cases about what the sound driver does not offer
}

// sound notes what the sound driver does not offer, and returns what it does.
func (c *catches) sound(t *testing.T, harness func(*testing.T) conformance.Harness) (caps driver.Caps) {
	c.absent = make(map[string]bool)
	bubble(t, func(t *testing.T) {
		h := harness(t)
		conn, err := h.Open(t.Context(), "caps")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		caps = conn.Caps()
		found, err := conformance.Check(t.Context(), h, conformance.Options{Rules: conformance.DriverRules(), Exact: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range found.Results {
			for _, res := range r.Cases {
				if res.Status != conformance.Passed {
					t.Errorf("%s, %s: the sound driver: %v: %s", r.Rule.ID, res.Name, res.Status, res.Detail)
				}
				c.absent[r.Rule.ID+"/"+res.Name] = res.Absent
			}
		}
	})
	return caps
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

// table prints them, and fails the test for a case that catches nothing, unless it
// is about what the driver does not offer.
func (c *catches) table(t *testing.T) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range conformance.DriverRules() {
		for _, check := range r.Cases {
			names := c.by[r.ID+"/"+check.Name]
			if len(names) == 0 && !c.absent[r.ID+"/"+check.Name] {
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
	bubble(t, func(t *testing.T) {
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
