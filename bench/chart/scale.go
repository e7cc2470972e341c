package chart

import (
	"math"
	"strconv"
	"strings"
)

// logRatio is how many times the smallest value the largest may be on a linear
// axis. A bar of a fiftieth of the plot's width is about as wide as its outline.
const logRatio = 50

// scale maps values to parts of the axis, from 0 to 1.
type scale struct {
	log      bool
	from, to float64 // the values at the axis's ends
	ticks    []float64
}

// newScale returns the scale that has room for all bars.
func newScale(groups []Group) scale {
	smallest, largest, reach := math.Inf(1), 0.0, 0.0
	for _, g := range groups {
		for _, b := range g.Bars {
			reach = max(reach, b.reach())
			if figure(b.Value) && b.Value >= smallestFigure {
				smallest, largest = min(smallest, b.Value), max(largest, b.Value)
			}
		}
	}
	if largest > logRatio*smallest {
		return logScale(smallest, reach)
	}
	return linearScale(reach)
}

// linearScale has about five ticks at round numbers, the last of them at reach
// or above.
func linearScale(reach float64) scale {
	if reach < smallestFigure {
		reach = 1
	}
	step := roundStep(reach / 5)
	count := math.Ceil(reach/step - 1e-9) // 0.3/0.1 is a little above 3
	s := scale{to: count * step}
	for i := range int(count) + 1 {
		s.ticks = append(s.ticks, float64(i)*step)
	}
	return s
}

// roundStep is the smallest of 1, 2 and 5 times a power of ten that is at least
// v.
func roundStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// logScale has its ticks at powers of ten. It begins at one that is at most half
// the smallest value, for that value's bar to be seen, and ends at one, two or
// five times a power of ten.
func logScale(smallest, reach float64) scale {
	s := scale{log: true, from: math.Pow(10, math.Floor(math.Log10(smallest/2))), to: roundStep(reach)}
	for tick := s.from; tick <= s.to*(1+1e-9); tick *= 10 {
		s.ticks = append(s.ticks, tick)
	}
	return s
}

// at returns where on the axis v is.
func (s scale) at(v float64) float64 {
	if s.log {
		if v <= s.from {
			return 0
		}
		return math.Log10(v/s.from) / math.Log10(s.to/s.from)
	}
	return v / s.to
}

// number writes a value with three significant digits or all of its whole part,
// in groups of thousands.
func number(v float64) string {
	decimals := 0
	switch {
	case v < smallestFigure:
		return "0"
	case v < 1:
		decimals = 2 - int(math.Floor(math.Log10(v)))
	case v < 10:
		decimals = 2
	case v < 100:
		decimals = 1
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	whole, fraction, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
		return whole + "." + fraction
	}
	return whole
}
