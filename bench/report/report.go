// Package report is what a run of the benchmarks has found, and how it is shown:
// as JSON, as a Markdown table and as plots.
package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/stats"
	"github.com/coordkit/coordkit/bench/work"
)

// Run is a run of the benchmarks.
type Run struct {
	Began    time.Time         `json:"began"`
	Took     string            `json:"took"`
	Command  string            `json:"command"`
	Machine  Machine           `json:"machine"`
	Versions map[string]string `json:"versions"`
	Short    bool              `json:"short"`
	Contests []Contest         `json:"contests"`
	// Unfinished: it was interrupted, or goes on.
	Unfinished bool `json:"unfinished,omitempty"`
	// Left are the cases for which there was no time.
	Left []string `json:"left,omitempty"`
}

// Contest is one case on one store over one network.
type Contest struct {
	Store   string  `json:"store"`
	Members int     `json:"members"`
	Network Network `json:"network"`
	Case    string  `json:"case"`
	About   string  `json:"about"`
	Unit    string  `json:"unit"`
	Less    bool    `json:"less,omitempty"` // the lower figure is the better one
	Entries []Entry `json:"entries"`
	// Absent names the sides of the store that have nothing to take part with.
	Absent []string `json:"absent,omitempty"`
	// Unasked says of sides that have, why they were not asked to.
	Unasked map[string]string `json:"unasked,omitempty"`
}

// Entry is what one side did, in all its turns.
type Entry struct {
	Side string `json:"side"`
	// Figures are those of the turns, in their order; the median counts.
	Figures []float64 `json:"figures"`
	Median  float64   `json:"median"`
	Low     float64   `json:"low"`
	High    float64   `json:"high"`
	// Worst is the worst of what the figures are medians of; 0 if that is not told.
	Worst float64 `json:"worst,omitempty"`
	// Ratio is how much better coordkit's median is; 0 if it cannot be told.
	Ratio float64 `json:"coordkit_ratio"`
	// Ratios are those of the pairs of turns, in their order, as far as both
	// sides had them.
	Ratios []float64 `json:"coordkit_ratios,omitempty"`

	Latency  *Quantiles `json:"latency,omitempty"`
	Handoff  *Quantiles `json:"handoff,omitempty"`
	Fairness *Fairness  `json:"fairness,omitempty"`
	CPU      float64    `json:"cpu_us_per_op,omitempty"` // of the clients' process

	Cost    *contest.Cost    `json:"per_op,omitempty"`
	Syncs   float64          `json:"syncs_per_op,omitempty"` // of all servers
	Waiting *contest.Waiting `json:"per_waiter,omitempty"`

	Partial bool     `json:"partial,omitempty"` // it did not finish in the time it was given
	Notes   []string `json:"notes,omitempty"`
	Error   string   `json:"error,omitempty"`
}

// Failed reports whether the side did not do the work, or not to its end.
func (e Entry) Failed() bool { return e.Error != "" || e.Partial }

// Failures is an error that tells where coordkit failed; nil if it did not.
func (r *Run) Failures() error {
	var all []error
	for i := range r.Contests {
		c := &r.Contests[i]
		if e, ok := c.Entry(contest.Ours); ok && e.Failed() {
			all = append(all, fmt.Errorf("%s: %s: coordkit failed: %s", c.title(), c.Case, cmp.Or(e.Error, "it did not end in time")))
		}
	}
	return errors.Join(all...)
}

// Quantiles are medians over the turns, in microseconds. P99 is 0 if no turn had a
// hundred samples.
type Quantiles struct {
	P50 float64 `json:"p50_us"`
	P99 float64 `json:"p99_us"`
}

// Fairness is that of all turns together.
type Fairness struct {
	Violations int `json:"violations"` // who got the lock out of order
	Checked    int `json:"checked"`    // of so many
	// Fastest over slowest contender's operations in the median turn; 0 where
	// nobody comes twice or one of them never got it, which Starved counts.
	Spread  float64 `json:"fastest_over_slowest,omitempty"`
	Starved int     `json:"starved,omitempty"` // in the worst turn
}

// Summarize makes an entry of a side's turns. The ratio is still missing.
func Summarize(c work.Case, side string, turns []contest.Sample) Entry {
	e := Entry{Side: side}
	var latency, handoff quantiles
	var fair Fairness
	var spreads, cpu, syncs []float64
	var waiting []contest.Waiting
	for _, s := range turns {
		e.Figures = append(e.Figures, c.Figure(s))
		e.Worst = max(e.Worst, s.Worst)
		latency.add(s.Latencies)
		handoff.add(s.Handoffs)
		fair.Violations += s.Violations
		fair.Checked += s.Checked
		spread, starved := evenness(s.PerClient)
		if spread > 0 {
			spreads = append(spreads, spread)
		}
		fair.Starved = max(fair.Starved, starved)
		if s.Ops > 0 && s.CPU > 0 {
			cpu = append(cpu, float64(s.CPU.Microseconds())/float64(s.Ops))
		}
		if s.Syncs > 0 {
			syncs = append(syncs, s.Syncs)
		}
		if s.Waiting != nil {
			waiting = append(waiting, *s.Waiting)
		}
		e.Partial = e.Partial || s.Partial
		if s.Note != "" {
			e.Notes = append(e.Notes, s.Note)
		}
	}
	if len(turns) > 0 {
		e.Median = stats.Median(e.Figures)
		e.Low, e.High = stats.Spread(e.Figures)
	}
	e.Latency, e.Handoff = latency.medians(), handoff.medians()
	e.Waiting = medianWaiting(waiting)
	if len(spreads) > 0 {
		fair.Spread = stats.Median(spreads)
	}
	if len(cpu) > 0 {
		e.CPU = stats.Median(cpu)
	}
	if len(syncs) > 0 {
		e.Syncs = stats.Median(syncs)
	}
	if fair.Checked > 0 || fair.Spread > 0 || fair.Starved > 0 {
		e.Fairness = &fair
	}
	return e
}

// medianWaiting is what each who waits takes, in the median of the turns.
func medianWaiting(turns []contest.Waiting) *contest.Waiting {
	if len(turns) == 0 {
		return nil
	}
	median := func(of func(contest.Waiting) float64) float64 {
		var all []float64
		for _, w := range turns {
			all = append(all, of(w))
		}
		return stats.Median(all)
	}
	return &contest.Waiting{
		Waiters:     turns[0].Waiters,
		Goroutines:  median(func(w contest.Waiting) float64 { return w.Goroutines }),
		Connections: median(func(w contest.Waiting) float64 { return w.Connections }),
		HeapBytes:   median(func(w contest.Waiting) float64 { return w.HeapBytes }),
		StackBytes:  median(func(w contest.Waiting) float64 { return w.StackBytes }),
	}
}

// Compare fills in the ratios, once all sides are there.
func (c *Contest) Compare() {
	ours, ok := c.Entry(contest.Ours)
	if !ok || ours.Error != "" {
		return
	}
	for i := range c.Entries {
		e := &c.Entries[i]
		e.Ratio = c.better(ours.Median, e.Median)
		for turn := range min(len(ours.Figures), len(e.Figures)) {
			if r := c.better(ours.Figures[turn], e.Figures[turn]); r > 0 {
				e.Ratios = append(e.Ratios, r)
			}
		}
	}
}

// Span returns the lowest and the highest ratio of one of coordkit's turns to one of
// the side's turns. A bound between the two is within the noise of the run. Both are
// 0 if the sides cannot be compared.
func (c *Contest) Span(e Entry) (low, high float64) {
	ours, ok := c.Entry(contest.Ours)
	if !ok || e.Ratio == 0 {
		return 0, 0
	}
	a, b := c.better(ours.Low, e.High), c.better(ours.High, e.Low)
	return min(a, b), max(a, b)
}

// better is how many times better ours is than theirs; 0 if it cannot be told.
func (c *Contest) better(ours, theirs float64) float64 {
	if c.Less {
		ours, theirs = theirs, ours
	}
	if ours <= 0 || theirs <= 0 {
		return 0
	}
	return ours / theirs
}

// Entry returns a side's.
func (c *Contest) Entry(side string) (Entry, bool) {
	for _, e := range c.Entries {
		if e.Side == side {
			return e, true
		}
	}
	return Entry{}, false
}

// quantiles are those of several turns.
type quantiles struct{ p50, p99 []float64 }

// QuantilesOf are those of one turn; nil if there were none.
func QuantilesOf(took []time.Duration) *Quantiles {
	var q quantiles
	q.add(took)
	return q.medians()
}

func (q *quantiles) add(took []time.Duration) {
	if len(took) > 0 {
		q.p50 = append(q.p50, micros(stats.Quantile(took, 0.5)))
	}
	if len(took) >= hundred { // of fewer it would be the longest
		q.p99 = append(q.p99, micros(stats.Quantile(took, 0.99)))
	}
}

const hundred = 100

func (q *quantiles) medians() *Quantiles {
	if len(q.p50) == 0 {
		return nil
	}
	all := &Quantiles{P50: stats.Median(q.p50)}
	if len(q.p99) > 0 {
		all.P99 = stats.Median(q.p99)
	}
	return all
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// rounds is how often the most served contender must have come before it is told
// who came less often: in a fair line nobody is further behind.
const rounds = 4

// evenness is the ratio of the most to the least that somebody got, and how many
// got nothing.
func evenness(perClient []int) (spread float64, starved int) {
	if len(perClient) < 2 {
		return 0, 0
	}
	most, least := slices.Max(perClient), slices.Min(perClient)
	if most < rounds {
		return 0, 0
	}
	for _, n := range perClient {
		if n == 0 {
			starved++
		}
	}
	if starved > 0 {
		return 0, starved
	}
	return float64(most) / float64(least), 0
}
