// Package targets has what the benchmarks are to show, and judges a run by it.
package targets

import (
	"fmt"
	"math"
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
type finder func(c *report.Contest) (figure, bool)

// figure is what was measured, with the lowest and highest value in single turns.
type figure struct{ value, low, high float64 }

// State is whether a target is met.
type State string

// The states of a target.
const (
	Met        State = "met"
	NotMet     State = "not met"
	Tie        State = "tie" // the bound is within the noise of the run: see report.Contest.Span
	Unmeasured State = "not measured"
)

// Verdict is a target, judged.
type Verdict struct {
	Target
	Network  string // over which it is judged; empty: over none
	State    State
	Measured float64
	// Low and High are the least and the most that it was in single turns.
	Low, High float64
	Ran       bool // it was in the run, even if nothing could be measured
	Failed    bool // coordkit did not do the work, or did not end in time: nothing that was measured counts
}

// Judge judges the targets of stores by a run, over each of its networks.
func Judge(run *report.Run) []Verdict {
	var all []Verdict
	for _, n := range run.Networks() {
		for _, t := range Of(n) {
			all = append(all, t.judge(run, n.Name()))
		}
	}
	return all
}

func (t Target) judge(run *report.Run, network string) Verdict {
	v := Verdict{Target: t, Network: network, State: Unmeasured}
	for i := range run.Contests {
		c := &run.Contests[i]
		if c.Network.Name() != network || c.Store != t.Store || c.Members != t.Members || c.Case != t.Case {
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

func (v *Verdict) decide(f figure) {
	v.Measured, v.Low, v.High, v.State = f.value, f.low, f.high, NotMet
	switch {
	case f.low < v.Bound && v.Bound <= f.high:
		v.State = Tie
	case v.Most && f.value <= v.Bound, !v.Most && f.value >= v.Bound:
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
	return func(c *report.Contest) (figure, bool) {
		e, ok := c.Entry(side)
		low, high := c.Span(e)
		return figure{e.Ratio, low, high}, ok && e.Ratio > 0
	}
}

// own is a figure of coordkit's entry.
func own(of func(e report.Entry) (float64, bool)) finder {
	return func(c *report.Contest) (figure, bool) {
		e, ok := c.Entry(contest.Ours)
		if !ok {
			return figure{}, false
		}
		value, ok := of(e)
		return figure{value, value, value}, ok
	}
}

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

// requested is rounded to a tenth: the locks in progress when counting begins and
// ends are counted in part.
func requested(e report.Entry) (float64, bool) {
	if e.Cost == nil {
		return 0, false
	}
	return math.Round(10*e.Cost.Requests) / 10, true
}
