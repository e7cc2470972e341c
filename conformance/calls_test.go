package conformance_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/internal/model"
	"github.com/coordkit/coordkit/conformance/internal/random"
	"github.com/coordkit/coordkit/conformance/internal/sabotage"
	"github.com/coordkit/coordkit/examples/slate/slatetest"
	"github.com/coordkit/coordkit/internal/report"
)

// calls runs G1 in virtual time.
func calls(t *testing.T, h conformance.Harness, programs int) (res conformance.Result) {
	t.Helper()
	found, err := conformance.Check(t.Context(), h, conformance.Options{Rules: pick(t, "G1"), Exact: true, Programs: programs})
	if err != nil {
		t.Fatal(err)
	}
	return found.Results[0]
}

// programsVariable is the environment variable that says how many programs TestCalls
// runs in each case, with each driver.
const programsVariable = "COORDKIT_PROGRAMS"

// programsOr is the number that programsVariable gives, or else another.
func programsOr(t *testing.T, usual int) int {
	s := os.Getenv(programsVariable)
	if s == "" {
		return usual
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("%s: %v", programsVariable, err)
	}
	return n
}

// Sound drivers pass.
func TestCalls(t *testing.T) {
	programs := programsOr(t, 100)
	on := func(h conformance.Harness) func() (conformance.Harness, func()) {
		return func() (conformance.Harness, func()) { return h, func() {} }
	}
	for name, open := range map[string]func() (conformance.Harness, func()){
		"mem":              on(memHarness(time.Second)),
		"mem, plain calls": on(plain(memHarness(time.Second))),
		"mem, with names":  on(sabotage.Names(memHarness(time.Second))),
		"slate":            func() (conformance.Harness, func()) { return slatetest.Memory(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			bubble(t, func(t *testing.T) {
				h, stop := open()
				defer stop()
				if r := calls(t, h, programs); r.Status != conformance.Passed {
					t.Errorf("%v: %s", r.Status, r.Detail)
				}
			})
			t.Logf("%d programs in %v", programs*len(pick(t, "G1")[0].Cases), time.Since(start).Round(time.Millisecond))
		})
	}
}

// Random calls find what no case was made for. With programsVariable they also have a try
// at what the cases are for; where something is left behind, they cannot see it.
func TestCallsFind(t *testing.T) {
	kinds := sabotage.Unlisted()
	if programsOr(t, 0) > 0 {
		kinds = append(kinds, sabotage.All()...)
	}
	var mu sync.Mutex
	found := make([]string, len(kinds))
	t.Run("each", func(t *testing.T) {
		for i, s := range kinds {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				bubble(t, func(t *testing.T) {
					tries, v := hunt(t, s.Apply(memHarness(time.Second)), 1000)
					mu.Lock()
					defer mu.Unlock()
					if v != nil {
						found[i] = fmt.Sprintf("%s\t%s\tas %s\tafter %d programs\t%.120s", s.Name, s.Breaks, v.Rule, tries, v.Text)
					} else if found[i] = s.Name + "\t" + s.Breaks + "\tnot found"; i < len(sabotage.Unlisted()) {
						t.Errorf("not found in %d programs: %s", tries, s.Doc)
					}
				})
			})
		}
	})
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(found, "\n"))
	if err := w.Flush(); err != nil {
		t.Error(err)
	}
	report.Show(t, "which broken drivers random calls find", b.String())
}

// hunt runs programs until one breaks a rule, and returns how many it took.
func hunt(t *testing.T, h conformance.Harness, most int) (tries int, v *model.Violation) {
	for seed := range most {
		kind := random.Kinds()[seed%len(random.Kinds())]
		on := random.Store{
			Harness: h, Namespace: fmt.Sprintf("hunt-%d", seed),
			Lag: func(time.Time) time.Duration { return 0 },
		}
		p := random.Generate(kind, on, uint64(seed))
		got, err := random.Run(t.Context(), on, p, "q")
		if err != nil {
			t.Fatal(err)
		}
		if found := model.Judge(got); len(found) > 0 {
			return seed + 1, &found[0]
		}
	}
	return most, nil
}

// printsWhatItNames wants the report of a program to print each step that it names, and to
// give a directory one name.
func printsWhatItNames(t *testing.T, detail string) {
	t.Helper()
	for _, step := range regexp.MustCompile(`#[0-9]+`).FindAllString(detail, -1) {
		if !regexp.MustCompile(`(?m)^[ 0-9]{2} ` + step + ` `).MatchString(detail) {
			t.Errorf("it names %s, which it does not print:\n%s", step, detail)
		}
	}
	prefixes := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?:List|Names|Create|Watch|Abandon)\("(q[0-9]*q|)`).FindAllStringSubmatch(detail, -1) {
		prefixes[m[1]] = true
	}
	if len(prefixes) != 1 {
		t.Errorf("the names of directories begin with %v:\n%s", prefixes, detail)
	}
}

// isRepeated wants the options that a case prints to make it fail by the same rule again.
func isRepeated(t *testing.T, h conformance.Harness, i int, detail string) {
	t.Helper()
	o := conformance.Options{Rules: pick(t, "G1")}
	_, again, _ := strings.Cut(detail, "Options{")
	if _, err := fmt.Sscanf(again, "Seed: %d, Rules: the rule G1 of RandomRules, Programs: %d, Exact: %t}", &o.Seed, &o.Programs, &o.Exact); err != nil {
		t.Fatalf("%v:\n%s", err, detail)
	}
	found, err := conformance.Check(t.Context(), h, o)
	if err != nil {
		t.Fatal(err)
	}
	rule, _, _ := strings.Cut(detail, " ")
	if c := found.Results[0].Cases[i]; !strings.HasPrefix(c.Detail, rule+" is broken: ") {
		t.Errorf("%+v: %s: %v: %s; want %s to be broken again", o, c.Name, c.Status, c.Detail, rule)
	}
}

// A failure says which rule was broken, by what, and how to see it again.
func TestCallsExplain(t *testing.T) {
	for _, s := range sabotage.All() {
		if s.Name != "update-wakes" {
			continue
		}
		bubble(t, func(t *testing.T) {
			r := calls(t, s.Apply(memHarness(time.Second)), 0)
			for _, want := range []string{
				"W2 is broken: WaitDelete returns nil for nothing else",
				"<-- this is wrong",
				"it returned nil, and nothing had removed ",
				"To repeat it: Options{Seed: ",
				", Rules: the rule G1 of RandomRules, Programs: 1, Exact: true}",
			} {
				if r.Status != conformance.Failed || !strings.Contains(r.Detail, want) {
					t.Errorf("%v, and it does not say %q:\n%s", r.Status, want, r.Detail)
				}
			}
			for i, c := range r.Cases {
				if c.Status == conformance.Failed {
					printsWhatItNames(t, c.Detail)
					isRepeated(t, s.Apply(memHarness(time.Second)), i, c.Detail)
				}
			}
		})
		return
	}
	t.Error("the sabotage is not there")
}

// Where the harness has no operator for directories, programs do without: a broken driver
// fails all the same, and of a sound one the case says what was left out.
func TestCallsWithoutAnOperator(t *testing.T) {
	for _, s := range sabotage.All() {
		if s.Name != "update-wakes" {
			continue
		}
		for want, apply := range map[conformance.Status]func(conformance.Harness) conformance.Harness{
			conformance.NotVerified: func(h conformance.Harness) conformance.Harness { return h },
			conformance.Failed:      s.Apply,
		} {
			bubble(t, func(t *testing.T) {
				h := memHarness(time.Second)
				h.RemoveDir = nil
				r := calls(t, apply(h), 0)
				i := slices.IndexFunc(r.Cases, func(c conformance.CaseResult) bool { return c.Name == "operators and ends" })
				if c := r.Cases[i]; c.Status != want {
					t.Errorf("%v: %s; want %v", c.Status, c.Detail, want)
				} else if want == conformance.NotVerified && !strings.Contains(c.Detail, "the harness has no RemoveDir: ") {
					t.Errorf("it does not say what was left out: %s", c.Detail)
				}
			})
		}
		return
	}
	t.Error("the sabotage is not there")
}
