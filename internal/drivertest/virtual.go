package drivertest

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/coordkit/coordkit/conformance"
)

// Variant is a harness whose store lives in this process, so that the suite can check
// it in virtual time.
type Variant struct {
	Name  string
	Rules []conformance.Rule
	Open  func(*testing.T) conformance.Harness // is called within the bubble, with its t
}

// MutantVariable is the environment variable that makes Virtual stop at the first rule
// that fails. Mutation testing sets it to the number of the mutant.
const MutantVariable = "COORDKIT_MUTANT"

// Virtual checks the rules of each variant in virtual time, as a subtest of the variant's
// name, and wants all of them to pass.
//
// If the environment has MutantVariable, the process exits as soon as the first variant is
// decided: with status 1 at the first rule that fails, which it prints, or else with
// status 0, or 3 if a rule could not be verified, which it prints too. It does not wait for
// goroutines that are left behind: to find them is the matter of the rules.
func Virtual(t *testing.T, variants ...Variant) {
	t.Helper()
	for _, v := range variants {
		t.Run(v.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := conformance.Options{Rules: v.Rules, Exact: true, Seed: 1}
				mutant := os.Getenv(MutantVariable) != ""
				if mutant {
					o.Rules, o.OnResult = eachCase(v.Rules), exitIfFailed
				}
				found, err := conformance.Check(t.Context(), v.Open(t), o)
				Must(t, err)
				if mutant {
					os.Exit(unverified(found))
				}
				for _, r := range found.Results {
					if r.Status != conformance.Passed {
						t.Errorf("%s %v: %s", r.Rule.ID, r.Status, r.Detail)
					}
				}
			})
		})
	}
}

// Random returns the random rule with the ID.
func Random(id string) []conformance.Rule {
	return slices.DeleteFunc(conformance.RandomRules(), func(r conformance.Rule) bool { return r.ID != id })
}

// eachCase makes a rule of each case, so that a result does not wait for other cases.
func eachCase(rules []conformance.Rule) (single []conformance.Rule) {
	for _, r := range rules {
		for _, c := range r.Cases {
			single = append(single, conformance.Rule{ID: r.ID, Text: r.Text, Cases: []conformance.Case{c}})
		}
	}
	return single
}

// unverified returns the status for a run in which nothing failed.
func unverified(found conformance.Report) (status int) {
	for _, r := range found.Results {
		if r.Status == conformance.NotVerified {
			fmt.Printf("NOT VERIFIED %s: %s\n", r.Rule.ID, r.Detail)
			status = 3
		}
	}
	return status
}

func exitIfFailed(r conformance.Result) {
	if r.Status == conformance.Failed {
		fmt.Printf("FAILED %s: %s\n", r.Rule.ID, r.Detail)
		os.Exit(1)
	}
}
