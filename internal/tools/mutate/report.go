package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// row is what became of the mutants of a package.
type row struct {
	target
	first                         string // the variant that is tried first
	mutants                       []*mutant
	byFirst, byRule, crash, hung  int
	equivalent, survive, notReach int
	errs                          []error
}

// rows counts the mutants of each target.
func (s suite) rows(o options, mutants []*mutant, known *equivalents) (rows []row, err error) {
	for _, t := range s.targets {
		r := row{target: t, first: s.variants[0]}
		for _, m := range mutants {
			if m.pkg == t.path {
				r.add(m, known)
			}
		}
		rows = append(rows, r)
		if o.survivors != "" {
			name := "survivors-" + strings.ReplaceAll(t.path, "/", "-") + ".txt"
			if err := os.WriteFile(filepath.Join(o.survivors, name), []byte(r.survivors()), 0o600); err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}

func (r *row) add(m *mutant, known *equivalents) {
	_, equivalent := known.reason[m.name()]
	if equivalent {
		known.met[m.name()] = true
		if m.outcome.kind.killed() {
			r.errs = append(r.errs, fmt.Errorf("is listed as equivalent and was killed (%s): %s", m.outcome.detail, m.name()))
		}
	}
	r.mutants = append(r.mutants, m)
	switch k := m.outcome.kind; {
	case equivalent:
		r.equivalent++
	case k == survived:
		r.survive++
	case k == notReached:
		r.survive++
		r.notReach++
	case k == failed:
		r.byRule++
	case k == crashed:
		r.crash++
	case k == hung:
		r.hung++
	}
	if m.outcome.kind.killed() && m.outcome.variant == r.first && !equivalent {
		r.byFirst++
	}
	m.equivalent = equivalent
}

func (r *row) killed() int { return r.byRule + r.crash + r.hung }

// percent is the share of the mutants that are killed of those that count.
func (r *row) percent() float64 {
	return 100 * float64(r.killed()) / float64(max(1, r.killed()+r.survive))
}

// survivors lists the mutants that count and were not killed.
func (r *row) survivors() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d of %d mutants survive\n", r.path, r.survive, r.killed()+r.survive)
	for _, m := range r.mutants {
		if !m.outcome.kind.killed() && !m.equivalent {
			mark := ""
			if m.outcome.kind == notReached {
				mark = "  [not reached]"
			}
			fmt.Fprintf(&b, "%s:%d [%d]%s\n\t%s\n", m.file, m.line, m.id, mark, m.name())
		}
	}
	return b.String()
}

// report prints the table and the survivors, and returns what makes the run a failure.
func report(w io.Writer, rows []row, known *equivalents) error {
	var errs []error
	for _, r := range rows {
		fmt.Fprintln(w, r.survivors())
		errs = append(errs, r.errs...)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "package\tmutants\tequivalent\tkilled\tby a rule\tcrashed\thung\tsurvived\tof them not reached\tshare\tgoal\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f %%\t%d %%\t\n", r.path, len(r.mutants), r.equivalent,
			r.killed(), r.byRule, r.crash, r.hung, r.survive, r.notReach, r.percent(), r.goal)
		if r.percent() < float64(r.goal) {
			errs = append(errs, fmt.Errorf("%s: the suite kills %.1f %% of the mutants; want %d %%", r.path, r.percent(), r.goal))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var unmet []string
	for name := range known.reason {
		inRun := slices.ContainsFunc(rows, func(r row) bool { return strings.HasPrefix(name, r.path+": ") })
		if inRun && !known.met[name] {
			unmet = append(unmet, name)
		}
	}
	slices.Sort(unmet)
	for _, name := range unmet {
		errs = append(errs, fmt.Errorf("equivalents.txt names a mutant that there is not: %s", name))
	}
	return errors.Join(errs...)
}
