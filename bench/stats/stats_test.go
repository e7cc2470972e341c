package stats_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/coordkit/coordkit/bench/stats"
)

func Example() {
	ours, theirs := []float64{1200, 1500, 900}, []float64{600, 640, 90}
	fmt.Println(stats.Median(ours), stats.Ratio(ours, theirs))
	// Output: 1200 2
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want float64
	}{
		{[]float64{3}, 3},
		{[]float64{9, 1, 2}, 2},
		{[]float64{4, 1, 3, 2}, 2.5},
	} {
		given := append([]float64(nil), c.of...)
		if got := stats.Median(c.of); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.of, got, c.want)
		}
		if fmt.Sprint(given) != fmt.Sprint(c.of) {
			t.Errorf("Median changed %v to %v", given, c.of)
		}
	}
}

func TestNothingIsNoNumber(t *testing.T) {
	low, high := stats.Spread(nil)
	for what, got := range map[string]float64{
		"Median":                 stats.Median(nil),
		"low":                    low,
		"high":                   high,
		"Ratio of nothing":       stats.Ratio(nil, []float64{1}),
		"Ratio to nothing":       stats.Ratio([]float64{1}, nil),
		"Ratio to a median of 0": stats.Ratio([]float64{1}, []float64{0}),
	} {
		if !math.IsNaN(got) {
			t.Errorf("%s: %v, want NaN", what, got)
		}
	}
}

func TestQuantile(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(100-i))
	}
	for _, c := range []struct {
		q    float64
		want time.Duration
	}{{0, 1}, {0.5, 50}, {0.99, 99}, {0.991, 100}, {1, 100}} {
		if got := stats.Quantile(hundred, c.q); got != c.want {
			t.Errorf("Quantile(1 to 100, %v) = %v, want %v", c.q, got, c.want)
		}
	}
	if got := stats.Quantile(nil, 0.5); got != 0 {
		t.Errorf("Quantile of none = %v, want 0", got)
	}
}
