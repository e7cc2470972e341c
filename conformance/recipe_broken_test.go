package conformance_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance"
	spoiled "github.com/coordkit/coordkit/conformance/internal/broken"
	"github.com/coordkit/coordkit/conformance/internal/sabotage"
	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/report"
)

// suspect is a recipe or driver that is broken, with the rules that are run on
// it.
type suspect struct {
	name   string
	breaks string // a rule that must fail; "" if that is not for us to say
	doc    string
	apply  func(conformance.Harness) conformance.Harness
	rules  []conformance.Rule
}

// suspects are the broken recipes, and the sound ones on broken drivers.
func suspects() (all []suspect) {
	sound := func(h conformance.Harness) conformance.Harness { return h }
	for _, r := range spoiled.Mutexes() {
		all = append(all, suspect{"mutex " + r.Name, r.Breaks, r.Doc, sound, conformance.MutexRules(r.Open)})
	}
	for _, r := range spoiled.RWLocks() {
		all = append(all, suspect{"rwlock " + r.Name, r.Breaks, r.Doc, sound, conformance.RWLockRules(r.Open)})
	}
	for _, r := range spoiled.Semaphores() {
		all = append(all, suspect{"semaphore " + r.Name, r.Breaks, r.Doc, sound, conformance.SemaphoreRules(r.Open)})
	}
	for _, r := range spoiled.Elections() {
		all = append(all, suspect{"election " + r.Name, r.Breaks, r.Doc, sound, conformance.ElectionRules(r.Open)})
	}
	all = append(all, suspect{"lease-without-margin", "M23", "A session ends a moment before its lease runs out in the store.",
		func(h conformance.Harness) conformance.Harness { return onSessions(h, withoutMargin) }, lockRules()})
	for _, s := range sabotage.All() {
		all = append(all, suspect{s.Name, "", s.Doc, s.Apply, rulesForDrivers()})
		switch s.Breaks[0] {
		case 'C', 'S': // what the fast paths do by themselves
			all = append(all, suspect{"slow " + s.Name, "", s.Doc,
				func(h conformance.Harness) conformance.Harness { return withoutFastPaths(s.Apply(h)) }, rulesForDrivers()})
		}
	}
	return all
}

// rulesForDrivers are the rules that are not run on broken recipes, and those with a
// case that no broken recipe fails. Broken drivers fail others too, which takes long to
// find and says nothing more.
func rulesForDrivers() (rules []conformance.Rule) {
	for _, r := range conformance.RecipeRules() {
		open := slices.ContainsFunc(openRules(), func(o conformance.Rule) bool { return o.ID == r.ID })
		if !open || driversMatter[r.ID] != "" || r.ID == "K5" || r.ID == "K7" {
			rules = append(rules, r)
		}
	}
	return rules
}

// openRules are the rules that can be run on broken recipes, on the sound ones.
func openRules() []conformance.Rule {
	return append(lockRules(), conformance.ElectionRules(subject.Election)...)
}

// lockRules are those without the election's, which stands in the same line as the
// mutex does and whose fifty observers take their time.
func lockRules() (rules []conformance.Rule) {
	rules = append(rules, conformance.MutexRules(subject.Mutex)...)
	rules = append(rules, conformance.RWLockRules(subject.RWLock)...)
	return append(rules, conformance.SemaphoreRules(subject.Semaphore)...)
}

// withoutFastPaths hides the fast paths of sessions, so that the recipes use the calls that
// a sabotage has broken.
func withoutFastPaths(h conformance.Harness) conformance.Harness {
	return onSessions(h, slowly)
}

func slowly(s driver.Session) driver.Session { return slowSession{s} }

// onSessions has all sessions of a harness's driver be others.
func onSessions(h conformance.Harness, wrap func(driver.Session) driver.Session) conformance.Harness {
	open, openLink := h.Open, h.OpenLink
	h.Open = func(ctx context.Context, namespace string) (driver.Conn, error) {
		c, err := open(ctx, namespace)
		return wrappingConn{c, wrap}, err
	}
	h.OpenLink = func(ctx context.Context, namespace string) (driver.Conn, conformance.Link, error) {
		c, l, err := openLink(ctx, namespace)
		return wrappingConn{c, wrap}, l, err
	}
	return h
}

type wrappingConn struct {
	driver.Conn
	wrap func(driver.Session) driver.Session
}

// Unwrap lets it be watched all the same.
func (c wrappingConn) Unwrap() any { return c.Conn }

func (c wrappingConn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := c.Conn.OpenSession(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return c.wrap(s), nil
}

type slowSession struct{ driver.Session }

// Each broken recipe fails the rule that it breaks. Which ones a broken driver
// fails is not for the driver's author to mend, so it is shown and not asserted;
// but there is no rule that nothing fails, and where recipes can be broken no
// case that nothing fails but what fails most of them.
func TestRecipesThatAreBroken(t *testing.T) {
	byRule, byCase := catches{by: make(map[string][]string)}, catches{by: make(map[string][]string)}
	byRecipe := catches{by: make(map[string][]string)} // of the rules that are named
	t.Run("each", func(t *testing.T) {
		for _, s := range suspects() {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				bubble(t, func(t *testing.T) {
					h := s.apply(memHarness(time.Second))
					h.Timeout = 30 * time.Second
					found, err := conformance.Check(t.Context(), h, conformance.Options{Rules: s.rules})
					if err != nil {
						t.Fatal(err)
					}
					isWellPut(t, found)
					byRule.add(s.name, found)
					if s.breaks != "" || narrow(found) {
						byCase.add(s.name, found)
					}
					if s.breaks == "" {
						return
					}
					broken := func(r conformance.Result) bool {
						return r.Rule.ID == s.breaks && r.Status == conformance.Failed
					}
					if !slices.ContainsFunc(found.Results, broken) {
						t.Errorf("%s holds although it is broken: %s", s.breaks, s.doc)
					}
					byRecipe.add(s.name, found)
					time.Sleep(time.Hour) // it may have begun something that ends by itself, late
				})
			})
		}
	})
	var b strings.Builder
	for _, r := range conformance.RecipeRules() {
		var by []string
		for _, c := range r.Cases {
			by = append(by, byRule.by[r.ID+"/"+c.Name]...)
		}
		if len(by) == 0 {
			t.Errorf("%s: nothing that is broken fails it", r.ID)
		}
	}
	for _, r := range openRules() {
		var by []string
		for _, c := range r.Cases {
			by = append(by, byRecipe.by[r.ID+"/"+c.Name]...)
		}
		if len(by) == 0 && driversMatter[r.ID] == "" {
			t.Errorf("%s: no broken recipe fails it", r.ID)
		}
		for _, c := range r.Cases {
			by := byCase.by[r.ID+"/"+c.Name]
			if len(by) == 0 {
				t.Errorf("%s, %s: nothing that is broken in one respect fails it", r.ID, c.Name)
			}
			slices.Sort(by)
			fmt.Fprintf(&b, "%s  %s: %s\n", r.ID, c.Name, strings.Join(slices.Compact(by), ", "))
		}
	}
	report.Show(t, "which broken recipe or driver each case of the recipes catches", b.String())
}

// The rules that no recipe can break by itself, but only the driver below it, and
// why.
var driversMatter = map[string]string{
	"M14": "a recipe is not shown foreign keys",
	"R19": "likewise",
	"P21": "likewise",
	"K20": "likewise",
}

// narrow reports whether what is broken shows in a part of the cases only. What
// fails most of them says nothing of one.
func narrow(found conformance.Report) bool {
	failed, all := 0, 0
	for _, r := range found.Results {
		for _, c := range r.Cases {
			all++
			if c.Status == conformance.Failed {
				failed++
			}
		}
	}
	return failed < all/4
}
