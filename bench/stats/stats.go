// Package stats is the arithmetic of comparisons: medians, quantiles, and ratios
// of medians.
package stats

import (
	"math"
	"slices"
	"time"
)

// Median is the middle of values, or the mean of the two in the middle. That of
// none is NaN.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// Spread is the least and the greatest of values; NaN for none.
func Spread(values []float64) (low, high float64) {
	if len(values) == 0 {
		return math.NaN(), math.NaN()
	}
	return slices.Min(values), slices.Max(values)
}

// Ratio is that of the medians of a and b. It is NaN if either has none or if
// b's is not greater than zero.
func Ratio(a, b []float64) float64 {
	below := Median(b)
	if math.IsNaN(below) || below <= 0 {
		return math.NaN()
	}
	return Median(a) / below
}

// Quantile is the smallest of took that is no less than a share q of them, 0 for
// none. q is between 0 and 1.
func Quantile(took []time.Duration, q float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(took))
	i := int(math.Ceil(q*float64(len(s)))) - 1
	return s[min(max(i, 0), len(s)-1)]
}
