// Package targets has what the benchmarks are to show, and judges a run by it.
package targets

import (
	"fmt"
	"slices"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/report"
)

// Target is a bound of one figure.
type Target struct {
	Store   string // empty: of no store
	Members int
	Case    string
	// What is bounded, and where it is found.
	What  string
	side  string // beside which; empty: of coordkit alone
	find  finder
	Bound float64
	Most  bool // the bound is the most it may be, and not the least
}

// finder returns a figure of coordkit's in a case, or false if it was not
// measured.
type finder func(c *report.Contest) (float64, bool)

// State is whether a target is met.
type State string

// The states of a target.
const (
	Met        State = "met"
	NotMet     State = "not met"
	Unmeasured State = "not measured"
)

// Verdict is a target, judged.
type Verdict struct {
	Target
	State    State
	Measured float64
	Ran      bool // it was in the run, even if nothing could be measured
	Failed   bool // coordkit did not do the work, or did not end in time: nothing that was measured counts
}

// Judge judges the targets of stores by a run.
func Judge(run *report.Run) []Verdict {
	var all []Verdict
	for _, t := range Stores() {
		all = append(all, t.judge(run))
	}
	return all
}

func (t Target) judge(run *report.Run) Verdict {
	v := Verdict{Target: t, State: Unmeasured}
	for i := range run.Contests {
		c := &run.Contests[i]
		if c.Store != t.Store || c.Members != t.Members || c.Case != t.Case {
			continue
		}
		there := t.side == "" || slices.ContainsFunc(c.Entries, func(e report.Entry) bool { return e.Side == t.side })
		v.Ran = v.Ran || there
		if ours, ok := c.Entry(contest.Ours); there && ok && ours.Failed() {
			v.State, v.Failed = NotMet, true
		} else if measured, ok := t.find(c); ok && !v.Failed {
			v.decide(measured)
		}
	}
	return v
}

func (v *Verdict) decide(measured float64) {
	v.Measured, v.State = measured, NotMet
	if v.Most && measured <= v.Bound || !v.Most && measured >= v.Bound {
		v.State = Met
	}
}

// Bounds says what the target is.
func (v Verdict) Bounds() string {
	if v.Most {
		return fmt.Sprintf("≤ %.4g", v.Bound)
	}
	return fmt.Sprintf("≥ %.4g", v.Bound)
}

// against is the ratio to a side.
func against(side string) finder {
	return func(c *report.Contest) (float64, bool) {
		e, ok := c.Entry(side)
		return e.Ratio, ok && e.Ratio > 0
	}
}

// own is a figure of coordkit's entry.
func own(figure func(e report.Entry) (float64, bool)) finder {
	return func(c *report.Contest) (float64, bool) {
		e, ok := c.Entry(contest.Ours)
		if !ok {
			return 0, false
		}
		return figure(e)
	}
}

func median(e report.Entry) (float64, bool) { return e.Median, e.Median > 0 }

func worst(e report.Entry) (float64, bool) { return e.Worst, e.Worst > 0 }

func violations(e report.Entry) (float64, bool) {
	if e.Fairness == nil || e.Fairness.Checked == 0 {
		return 0, false
	}
	return float64(e.Fairness.Violations), true
}

func starved(e report.Entry) (float64, bool) {
	if e.Fairness == nil {
		return 0, false
	}
	return float64(e.Fairness.Starved), true
}

func tail(e report.Entry) (float64, bool) {
	if e.Handoff == nil || e.Handoff.P50 <= 0 || e.Handoff.P99 <= 0 {
		return 0, false
	}
	return e.Handoff.P99 / e.Handoff.P50, true
}

func heap(e report.Entry) (float64, bool) {
	if e.Waiting == nil {
		return 0, false
	}
	return e.Waiting.HeapBytes / 1024, true
}

func goroutines(e report.Entry) (float64, bool) {
	if e.Waiting == nil {
		return 0, false
	}
	return e.Waiting.Goroutines, true
}
