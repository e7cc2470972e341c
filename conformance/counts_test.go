package conformance_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/coordkit/coordkit/conformance"
	spoiled "github.com/coordkit/coordkit/conformance/internal/broken"
	"github.com/coordkit/coordkit/conformance/internal/sabotage"
)

// TestCounts prints how many rules and cases each group has, and how many broken
// drivers and recipes check them. A name that is there twice would hide one of them.
func TestCounts(t *testing.T) {
	rules, cases := make(map[string]int), make(map[string]int)
	var names, broken []string
	for _, r := range conformance.Rules() {
		group := r.ID[:1]
		rules[group]++
		cases[group] += len(r.Cases)
		for _, c := range r.Cases {
			names = append(names, r.ID+" "+c.Name)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(rules)) {
		t.Logf("%s: %3d rules, %4d cases", group, rules[group], cases[group])
	}
	t.Logf("in all %d rules, %d cases", len(conformance.Rules()), len(names))

	for _, s := range sabotage.All() {
		broken = append(broken, s.Name)
	}
	t.Logf("%d broken drivers; broken recipes: %d mutexes, %d rwlocks, %d semaphores, %d elections", len(broken),
		len(spoiled.Mutexes()), len(spoiled.RWLocks()), len(spoiled.Semaphores()), len(spoiled.Elections()))
	for what, all := range map[string][]string{"case": names, "broken driver": broken} {
		unique(t, what, all)
	}
}

// unique fails the test for a name that is there twice.
func unique(t *testing.T, what string, names []string) {
	t.Helper()
	slices.Sort(names)
	for i, name := range names[1:] {
		if name == names[i] {
			t.Errorf("two are called %s %s", what, name)
		}
	}
}
