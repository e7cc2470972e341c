package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// row is what became of the mutants of a package.
type row struct {
	name                string
	path                string
	goal                int
	mutants             []*mutant
	count               map[kind]int // of those that are not equivalent
	byVariant           map[string]int
	variants            []string
	equivalent, survive int
	errs                []error
}

// rows counts the mutants of each target.
func (s suite) rows(o options, mutants []*mutant, known *equivalents) (rows []row, err error) {
	for _, t := range s.targets {
		main := row{name: t.path, path: t.path, goal: t.goal, variants: s.variants}
		aside := row{name: t.path + " aside", path: t.path, variants: s.variants}
		for _, m := range mutants {
			switch {
			case m.pkg != t.path:
			case slices.Contains(t.aside, path.Base(m.file)):
				aside.add(m, known)
			default:
				main.add(m, known)
			}
		}
		rows = append(rows, main)
		if len(aside.mutants) > 0 {
			rows = append(rows, aside)
		}
		if o.survivors != "" {
			name := "survivors-" + strings.ReplaceAll(t.path, "/", "-") + ".txt"
			text := main.survivors() + "\n" + aside.survivors()
			if err := os.WriteFile(filepath.Join(o.survivors, name), []byte(text), 0o600); err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}

func (r *row) add(m *mutant, known *equivalents) {
	if r.count == nil {
		r.count, r.byVariant = make(map[kind]int), make(map[string]int)
	}
	r.mutants = append(r.mutants, m)
	killed := m.outcome.kind.killed()
	_, m.equivalent = known.reason[m.name()]
	if m.equivalent {
		known.met[m.name()] = true
		r.equivalent++
		if killed {
			r.errs = append(r.errs, fmt.Errorf("is listed as equivalent and was killed (%s): %s", m.outcome.detail, m.name()))
		}
		return
	}
	r.count[m.outcome.kind]++
	if killed {
		r.byVariant[m.outcome.variant]++
	} else {
		r.survive++
	}
}

func (r *row) killed() int { return r.count[failed] + r.count[crashed] + r.count[hung] }

// percent is the share of the mutants that are killed of those that count.
func (r *row) percent() float64 {
	return 100 * float64(r.killed()) / float64(max(1, r.killed()+r.survive))
}

// survivors lists the mutants that count and were not killed.
func (r *row) survivors() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d of %d mutants survive; killed", r.name, r.survive, r.killed()+r.survive)
	for _, v := range r.variants {
		fmt.Fprintf(&b, ", %q: %d", v, r.byVariant[v])
	}
	fmt.Fprintln(&b)
	for _, m := range r.mutants {
		if !m.outcome.kind.killed() && !m.equivalent {
			note := ""
			if m.outcome.kind != survived {
				note = fmt.Sprintf("  %v %s", m.outcome.kind, m.outcome.detail)
			}
			fmt.Fprintf(&b, "%s:%d [%d]%s\n\t%s\n", m.file, m.line, m.id, note, m.name())
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
	fmt.Fprintln(t, "package\tmutants\tequivalent\tkilled\tby a rule\tcrashed\thung\tsurvive\tnot verified\tnot reached\tshare\tgoal\t")
	for _, r := range rows {
		goal := ""
		if r.goal > 0 {
			goal = fmt.Sprintf("%d %%", r.goal)
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f %%\t%s\t\n", r.name, len(r.mutants), r.equivalent,
			r.killed(), r.count[failed], r.count[crashed], r.count[hung], r.survive, r.count[unverified], r.count[notReached], r.percent(), goal)
		if r.percent() < float64(r.goal) {
			errs = append(errs, fmt.Errorf("%s: the suite kills %.1f %% of the mutants; want %d %%", r.name, r.percent(), r.goal))
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
