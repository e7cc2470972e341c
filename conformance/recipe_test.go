package conformance_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/internal/sabotage"
	"github.com/coordkit/coordkit/internal/report"
)

// doc/recipes.md has the suite's rules, in the same words and order.
func TestOneListOfRecipeRules(t *testing.T) {
	page, err := os.ReadFile("../doc/recipes.md")
	if err != nil {
		t.Fatal(err)
	}
	var suite, listed []rule
	for _, r := range conformance.RecipeRules() {
		suite = append(suite, rule{r.ID, r.Text})
	}
	for _, m := range regexp.MustCompile(`(?m)^\| ([A-Z]+[0-9]+) \| ([^|]*) \|`).FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, rule{m[1], m[2]})
	}
	compare(t, "doc/recipes.md", listed, suite)
}

// A driver that breaks its contract breaks recipes. Which ones is not for the
// driver's author to mend, so it is shown and not asserted; but there is no
// rule of the recipes that cannot fail.
func TestRecipesOnBrokenDrivers(t *testing.T) {
	caught := catches{by: make(map[string][]string)}
	t.Run("each", func(t *testing.T) {
		for _, s := range sabotage.All() {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					h := s.Apply(memHarness(time.Second))
					h.Timeout = 30 * time.Second
					r, err := conformance.Check(t.Context(), h, conformance.Options{Rules: conformance.RecipeRules()})
					if err != nil {
						t.Fatal(err)
					}
					caught.add(s.Name, r)
				})
			})
		}
	})
	var b strings.Builder
	for _, r := range conformance.RecipeRules() {
		var by []string
		for _, c := range r.Cases {
			by = append(by, caught.by[r.ID+"/"+c.Name]...)
		}
		if len(by) == 0 {
			t.Errorf("%s fails on no broken driver", r.ID)
		}
		b.WriteString(r.ID + "  " + strings.Join(by, ", ") + "\n")
	}
	report.Show(t, "recipe rules, and the broken drivers on which they fail", b.String())
}
