// Package chart draws bar charts as SVG, for reports that are read in a browser
// or on a page that shows a repository.
//
// A chart brings its own background, light or dark as its reader prefers, so it
// can be read on a page of any color. The same input gives the same bytes, so a
// chart that is kept under version control changes only with its figures.
package chart

import "slices"

// Group is a set of bars that are drawn next to each other, such as the stores
// or libraries that did the same work.
type Group struct {
	// Label stands at the left of the group's bars.
	Label string
	// Bars are drawn from top to bottom.
	Bars []Bar
}

// Bar is one figure.
type Bar struct {
	// Label names the series: bars with the same label have the same color and
	// one entry in the legend, in all groups.
	Label string
	// Value is the bar's length and the number at its end, in the chart's unit.
	// It is between 0 and 1e15. Any other, such as NaN, stands for a figure that
	// could not be had: there is no bar then, and the words "not available".
	Value float64
	// Low and High are the ends of the whisker across the bar's end, such as the
	// lowest and the highest of several runs. There is no whisker if both are 0.
	Low, High float64
}

// Bars returns an SVG document that shows the groups from top to bottom, each
// with its bars, on a common axis for values of the given unit. The figures need
// not be sorted. The axis is logarithmic, and says so, if the largest value is
// more than 50 times the smallest one above zero, as a short bar tells nothing
// otherwise.
//
// Bars may be called by several goroutines at once. It cannot fail: what is not
// text in XML is left out of the labels.
func Bars(title, unit string, groups []Group) []byte {
	return newDrawing(title, unit, groups).render()
}

// The smallest figure that is told from 0, and the largest.
const (
	smallestFigure = 1e-9
	largestFigure  = 1e15
)

// figure tells whether v can be drawn, which NaN cannot.
func figure(v float64) bool { return v >= 0 && v <= largestFigure }

// hasWhisker tells whether the bar has one that can be drawn.
func (b Bar) hasWhisker() bool {
	return figure(b.Low) && figure(b.High) && b.Low <= b.High && b.High > 0
}

// text is what stands at the end of the bar.
func (b Bar) text() string {
	if !figure(b.Value) {
		return "not available"
	}
	return number(b.Value)
}

// reach is the largest value that the bar or its whisker comes to.
func (b Bar) reach() float64 {
	reach := 0.0
	if figure(b.Value) {
		reach = b.Value
	}
	if b.hasWhisker() {
		reach = max(reach, b.High)
	}
	return reach
}

// series returns the labels of all bars in the order they first come in.
func series(groups []Group) []string {
	var labels []string
	for _, g := range groups {
		for _, b := range g.Bars {
			if !slices.Contains(labels, b.Label) {
				labels = append(labels, b.Label)
			}
		}
	}
	return labels
}
