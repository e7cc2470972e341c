package conformance_test

import (
	"strings"
	"testing"

	"github.com/coordkit/coordkit/conformance"
	spoiled "github.com/coordkit/coordkit/conformance/internal/broken"
	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/conformance/soak"
	"github.com/coordkit/coordkit/internal/report"
)

// The broken recipes of the suite are given to the soak too, which has to see
// those whose mistakes its clients can meet.
func TestSoakFindsBrokenRecipesOfTheSuite(t *testing.T) {
	var shown findings
	known := make(map[string]bool)
	sound := func(h conformance.Harness) conformance.Harness { return h }
	t.Run("each", func(t *testing.T) {
		for _, b := range suiteRecipes() {
			_, mistake, _ := strings.Cut(b.recipe.Name, " ")
			known[b.recipe.Name], known[mistake] = true, true
			if unmet[b.recipe.Name] != "" || unmet[mistake] != "" || unmetRules[b.breaks] != "" {
				continue
			}
			t.Run(b.recipe.Name, func(t *testing.T) {
				t.Parallel()
				n, v := soaked(t, attempts()[:16], sound, func(o *soak.Options) { o.Recipes = []soak.Recipe{b.recipe} })
				if v.Text == "" {
					t.Errorf("%d runs have not seen it: %s", n, b.doc)
				}
				shown.add(b.recipe.Name, n, v)
			})
		}
	})
	for name, why := range unmet {
		if !known[name] || why == "" {
			t.Errorf("%q is exempt for the reason %q; want a broken recipe, and a reason", name, why)
		}
	}
	report.Show(t, "what users of the suite's broken recipes see", shown.String())
}

// fromSuite is a broken recipe of the suite, as the soak uses it.
type fromSuite struct {
	recipe      soak.Recipe
	breaks, doc string
}

// suiteLine is the name of their lines.
const suiteLine = "Suite" // which differs from others in a capital

func suiteRecipes() (all []fromSuite) {
	for _, r := range spoiled.Mutexes() {
		all = append(all, fromSuite{soak.Mutex("mutex "+r.Name, suiteLine, func(u soak.User, line string) subject.Want {
			return r.Open(u.Client, line)
		}), r.Breaks, r.Doc})
	}
	for _, r := range spoiled.RWLocks() {
		all = append(all, fromSuite{soak.RWLock("rwlock "+r.Name, suiteLine, func(u soak.User, line string) subject.ReadWrite {
			return r.Open(u.Client, line)
		}), r.Breaks, r.Doc})
	}
	for _, r := range spoiled.Semaphores() {
		limits := []int{5}
		if r.Breaks == "P11" || r.Breaks == "P26" || r.Breaks == "P27" { // of changes
			limits = []int{3, 4, 6}
		}
		all = append(all, fromSuite{soak.Semaphore("semaphore "+r.Name, suiteLine, limits, func(u soak.User, line string, limit int) subject.Counting {
			return r.Open(u.Client, line, limit)
		}), r.Breaks, r.Doc})
	}
	for _, r := range spoiled.Elections() {
		all = append(all, fromSuite{soak.Election("election "+r.Name, suiteLine, func(u soak.User, line string) subject.Electing {
			return r.Open(u.Client, line)
		}), r.Breaks, r.Doc})
	}
	return all
}
