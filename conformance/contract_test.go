package conformance_test

import (
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coordkit/coordkit/conformance"
)

// rule is an ID and its sentence, as written somewhere.
type rule struct{ id, text string }

// The package documentation of coord/driver, the suite and doc/contract.md have
// the same rules in the same words and in the same order. The page also has the rule
// that checks them all at once.
func TestOneContract(t *testing.T) {
	var suite []rule
	for _, r := range onPage(t) {
		suite = append(suite, rule{r.ID, r.Text})
	}
	compare(t, "the documentation of coord/driver", documented(t), suite[:len(suite)-1])
	var page []rule
	for _, s := range sections(t) {
		page = append(page, s.rule)
	}
	compare(t, "doc/contract.md", page, suite)
}

// onPage returns the rules that doc/contract.md describes.
func onPage(t *testing.T) []conformance.Rule {
	return append(conformance.DriverRules(), pick(t, "G1")...)
}

func compare(t *testing.T, where string, got, suite []rule) {
	t.Helper()
	for _, r := range suite {
		if !slices.Contains(got, r) {
			t.Errorf("the suite has %s, %q, which is not so in %s", r.id, r.text, where)
		}
	}
	for _, r := range got {
		if !slices.Contains(suite, r) {
			t.Errorf("%s has %s, %q, which is not so in the suite", where, r.id, r.text)
		}
	}
	if !t.Failed() && !slices.Equal(got, suite) {
		t.Errorf("the rules are in another order in %s", where)
	}
}

// documented returns the rules in the comment of package driver.
func documented(t *testing.T) (rules []rule) {
	file, err := parser.ParseFile(token.NewFileSet(), "../coord/driver/doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\t([A-Z]+[0-9]+)  (.*)$`).FindAllStringSubmatch(file.Doc.Text(), -1) {
		rules = append(rules, rule{m[1], m[2]})
	}
	return rules
}

// section is what doc/contract.md says of a rule.
type section struct {
	rule
	body string
}

func sections(t *testing.T) (found []section) {
	page, err := os.ReadFile("../doc/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range strings.Split(string(page), "\n### ")[1:] {
		s, _, _ = strings.Cut(s, "\n## ")
		id, body, _ := strings.Cut(s, "\n\n> ")
		text, body, _ := strings.Cut(body, "\n\n")
		found = append(found, section{rule{id, text}, body})
	}
	return found
}

// again is the name of another rule's case, run again with an optional call: it begins with
// that rule's ID.
var again = regexp.MustCompile(`^[A-Z][0-9] `)

// The page tells of each case by its name, but for those of other rules that are run again.
func TestCasesAreDescribed(t *testing.T) {
	pages := sections(t)
	for _, r := range onPage(t) {
		i := slices.IndexFunc(pages, func(s section) bool { return s.id == r.ID })
		if i < 0 {
			continue // TestOneContract says so
		}
		body := strings.Join(strings.Fields(pages[i].body), " ")
		for _, c := range r.Cases {
			if again.MatchString(c.Name) {
				continue
			}
			if !strings.Contains(body, "*"+c.Name+"*") {
				t.Errorf("doc/contract.md does not tell of the case %q of %s", c.Name, r.ID)
			}
		}
		for _, part := range []string{"**Why.**", "**Checked by.**", "**Guards against**"} {
			if !strings.Contains(body, part) {
				t.Errorf("doc/contract.md says nothing of %s under %s", part, r.ID)
			}
		}
	}
}
