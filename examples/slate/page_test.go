package slate

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coordkit/coordkit/conformance"
)

const page = "../../doc/writing-a-driver.md"

// The rules that the page names exist.
func TestPageNamesRules(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	ids := regexp.MustCompile(`\b[A-Z][0-9]+\b(\.[0-9])?`).FindAllString(string(text), -1)
	if len(ids) == 0 {
		t.Fatal("no rules on the page; the test does not find them")
	}
	for _, id := range ids {
		if strings.Contains(id, ".") { // a goroutine of a random program, as A2.65
			continue
		}
		if !slices.ContainsFunc(conformance.Rules(), func(r conformance.Rule) bool { return r.ID == id }) {
			t.Errorf("the page names %s, which is no rule", id)
		}
	}
}
