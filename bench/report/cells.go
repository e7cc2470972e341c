package report

import (
	"fmt"
	"strconv"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/stats"
)

const none = "–"

// figure shows three digits, or all before the point.
func figure(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func orNone(v float64) string {
	if v <= 0 {
		return none
	}
	return figure(v)
}

// micro shows microseconds.
func micro(us float64) string {
	if us <= 0 {
		return none
	}
	d := time.Duration(us * float64(time.Microsecond))
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.0f µs", us)
}

// String is two cells of a table.
func (q *Quantiles) String() string {
	if q == nil {
		return none + " | " + none
	}
	return micro(q.P50) + " | " + micro(q.P99)
}

// String is two cells of a table.
func (f *Fairness) String() string {
	if f == nil {
		return none + " | " + none
	}
	order, even := none, orNone(f.Spread)
	if f.Checked > 0 {
		order = fmt.Sprintf("%d of %d", f.Violations, f.Checked)
	}
	if f.Starved > 0 {
		even = fmt.Sprintf("%d starved", f.Starved)
	}
	return order + " | " + even
}

// cost is three cells of a table.
func cost(e Entry) string {
	requests, commits := none, none
	if e.Cost != nil {
		requests, commits = fmt.Sprintf("%.2f", e.Cost.Requests), fmt.Sprintf("%.2f", e.Cost.Commits)
	}
	return requests + " | " + commits + " | " + orNone(e.Syncs)
}

// pairs is how far the ratios of single turns are apart.
func pairs(e Entry) string {
	if e.Side == contest.Ours || len(e.Ratios) < 2 {
		return none
	}
	low, high := stats.Spread(e.Ratios)
	return figure(low) + "–" + figure(high)
}
