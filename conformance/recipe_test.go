package conformance_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/coordkit/coordkit/conformance"
)

// doc/recipes.md has the suite's rules, in the same words and order.
func TestOneListOfRecipeRules(t *testing.T) {
	page, err := os.ReadFile("../doc/recipes.md")
	if err != nil {
		t.Fatal(err)
	}
	var suite, listed []rule
	for _, r := range append(conformance.RecipeRules(), pick(t, "G2")...) {
		suite = append(suite, rule{r.ID, r.Text})
	}
	for _, m := range regexp.MustCompile(`(?m)^\| ([A-Z]+[0-9]+) \| ([^|]*) \|`).FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, rule{m[1], m[2]})
	}
	compare(t, "doc/recipes.md", listed, suite)
}
