package conformance_test

import (
	"testing"

	"github.com/coordkit/coordkit/conformance"
	spoiled "github.com/coordkit/coordkit/conformance/internal/broken"
	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/conformance/soak"
	"github.com/coordkit/coordkit/internal/report"
)

// The soak sees what is wrong with each broken recipe of the suite, and nothing wrong with
// a sound one.
func TestSoakFindsBrokenRecipesOfTheSuite(t *testing.T) {
	var shown findings
	sound := func(h conformance.Harness) conformance.Harness { return h }
	t.Run("each", func(t *testing.T) {
		for _, b := range suiteRecipes() {
			t.Run(b.recipe.Name, func(t *testing.T) {
				t.Parallel()
				n, v := soaked(t, attempts()[:16], sound, func(o *soak.Options) { o.Recipes = []soak.Recipe{b.recipe} })
				if v.Text == "" {
					t.Errorf("%d runs have not seen it: %s", n, b.doc)
				}
				shown.add(b.recipe.Name, n, v)
			})
		}
		for _, r := range soak.Recipes() {
			t.Run("sound "+r.Name, func(t *testing.T) {
				t.Parallel()
				if n, v := soaked(t, attempts()[:6], sound, func(o *soak.Options) { o.Recipes = []soak.Recipe{r} }); v.Text != "" {
					t.Errorf("run %d finds: %s", n, v.Text)
				}
			})
		}
	})
	report.Show(t, "what users of the suite's broken recipes see", shown.String())
}

// fromSuite is a broken recipe of the suite, as the soak uses it.
type fromSuite struct {
	recipe soak.Recipe
	doc    string
}

// suiteLine is the name of their lines.
const suiteLine = "Suite" // which differs from others in a capital

func suiteRecipes() (all []fromSuite) {
	for _, r := range spoiled.Mutexes() {
		all = append(all, fromSuite{soak.Mutex("mutex "+r.Name, suiteLine, func(u soak.User, line string) subject.Want {
			return r.Open(u.Client, line)
		}), r.Doc})
	}
	for _, r := range spoiled.RWLocks() {
		all = append(all, fromSuite{soak.RWLock("rwlock "+r.Name, suiteLine, func(u soak.User, line string) subject.ReadWrite {
			return r.Open(u.Client, line)
		}), r.Doc})
	}
	for _, r := range spoiled.Semaphores() {
		limits := []int{5}
		if r.Breaks == "P11" || r.Breaks == "P26" || r.Breaks == "P27" { // of changes
			limits = []int{3, 4, 6}
		}
		all = append(all, fromSuite{soak.Semaphore("semaphore "+r.Name, suiteLine, limits, func(u soak.User, line string, limit int) subject.Counting {
			return r.Open(u.Client, line, limit)
		}), r.Doc})
	}
	for _, r := range spoiled.Elections() {
		all = append(all, fromSuite{soak.Election("election "+r.Name, suiteLine, func(u soak.User, line string) subject.Electing {
			return r.Open(u.Client, line)
		}), r.Doc})
	}
	return all
}
