package conformance_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/conformance/internal/sabotage"
	"github.com/coordkit/coordkit/conformance/soak"
	"github.com/coordkit/coordkit/internal/report"
)

// attempt is a run of the soak on something broken.
type attempt struct {
	options soak.Options
	plain   bool // without the driver's fast paths
}

// attempts are the runs that something broken has to survive none of, with fixed
// seeds. Some mistakes show only where many share a session, or in a line that is
// long, or where no fast path is taken.
func attempts() (all []attempt) {
	const most = 24 // the rarest take some ten
	for i := range most {
		a := attempt{soak.Options{Duration: time.Minute, Exact: true, Seed: uint64(i + 1)}, i%2 == 1}
		switch i % 6 {
		case 2, 3:
			a.options.Clients, a.options.Workers = 2, 12
		case 4:
			a.options.Clients, a.options.Workers, a.options.Recipes = 2, 110, soak.Recipes()[:1]
		}
		all = append(all, a)
	}
	return all
}

// soaked makes attempts on a driver until one finds a violation, and returns how
// many it took, and the violation.
func soaked(t *testing.T, all []attempt, sabotage func(conformance.Harness) conformance.Harness, change func(*soak.Options)) (n int, found history.Violation) {
	t.Helper()
	for i, a := range all {
		bubble(t, func(t *testing.T) {
			sound, end := closing(memHarness(time.Second))
			h := sabotage(sound)
			if a.plain {
				h = plain(h)
			}
			change(&a.options)
			ctx, cancel := context.WithCancel(t.Context())
			r, err := soak.Run(ctx, h, a.options)
			if err != nil {
				found = history.Violation{Text: fmt.Sprintf("not even a run is possible: %v", err)}
			} else if all := r.History.Violations(); len(all) > 0 {
				found = all[0]
			}
			cancel()
			end()
			// What is broken may have begun something that ends by itself, late.
			time.Sleep(2 * time.Hour)
		})
		if found.Text != "" {
			return i + 1, found
		}
	}
	return len(all), found
}

// Who uses the recipes on a broken driver finds out that it is.
func TestSoakFindsBrokenDrivers(t *testing.T) {
	var shown findings
	all := make(map[string]sabotage.Sabotage)
	for _, s := range sabotage.All() {
		all[s.Name] = s
	}
	t.Run("each", func(t *testing.T) {
		for _, name := range seen {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s, known := all[name]
				if !known {
					t.Fatal("there is no such broken driver")
				}
				n, v := soaked(t, attempts(), s.Apply, func(*soak.Options) {})
				if v.Text == "" {
					t.Errorf("%d runs have not seen it: %s", n, s.Doc)
				}
				shown.add(name, n, v)
			})
		}
	})
	report.Show(t, "what users of the recipes see of broken drivers", shown.String())
}

// findings are a table of what was found.
type findings struct {
	mu   sync.Mutex
	rows []string
}

func (f *findings) add(name string, attempts int, v history.Violation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	line, _, _ := strings.Cut(v.Text, "\n")
	f.rows = append(f.rows, fmt.Sprintf("%-34s in run %d, at %v: %.120s", name, attempts, v.At.Round(time.Millisecond), line))
}

func (f *findings) String() string {
	slices.Sort(f.rows)
	return strings.Join(f.rows, "\n")
}
