package main

import "testing"

func TestSettled(t *testing.T) {
	for _, c := range []struct {
		why   string
		rates []float64
		want  bool
	}{
		{"nothing was measured", nil, false},
		{"as few rounds as are to bring nothing", []float64{100, 100, 100}, false},
		{"they get quicker", []float64{100, 120, 140, 160, 180}, false},
		{"one of the last was quicker", []float64{100, 100, 120, 100}, false},
		{"no gain", []float64{100, 100, 100, 100}, true},
		{"a gain by chance", []float64{100, 180, 184, 150, 181}, true},
		{"they get slower", []float64{100, 90, 80, 70}, true},
	} {
		if got := settled(c.rates); got != c.want {
			t.Errorf("%s: settled(%v) = %v", c.why, c.rates, got)
		}
	}
}
