package chart

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Measures in pixels. The width is that of a README's column.
const (
	chartWidth = 820.0
	margin     = 24.0
	labelLimit = 190.0 // of the groups' labels, which are wrapped
	titleSize  = 17.0
	textSize   = 13.0
	valueSize  = 12.0
	lineHeight = 17.0
	barHeight  = 14.0
	barStep    = 17.0
	groupGap   = 16.0
	swatch     = 11.0
	gap        = 8.0 // between a text and what it belongs to
	capHeight  = 0.36
)

// drawing is a chart with the places of its parts.
type drawing struct {
	title, unit string
	groups      []Group
	series      []string
	labels      [][]string // lines of the groups' labels
	scale       scale
	left, right float64 // of the axis
	out         bytes.Buffer
}

func newDrawing(title, unit string, groups []Group) *drawing {
	d := &drawing{title: title, unit: unit, groups: groups, series: series(groups), scale: newScale(groups)}
	column := 0.0
	for _, g := range groups {
		lines := wrap(g.Label, textSize, labelLimit)
		d.labels = append(d.labels, lines)
		column = max(column, widest(lines, textSize))
	}
	d.left = math.Round(margin + column + 1.5*gap)
	d.right = d.axisEnd()
	return d
}

// axisEnd returns the right end of the axis: the last one with room for every
// value behind its bar.
func (d *drawing) axisEnd() float64 {
	end := chartWidth - margin - width(number(d.scale.to), valueSize)/2
	for _, g := range d.groups {
		for _, b := range g.Bars {
			room := chartWidth - margin - gap - width(b.text(), valueSize) - d.left
			if part := d.scale.at(b.reach()); part*(end-d.left) > room {
				end = d.left + room/part
			}
		}
	}
	return math.Floor(end)
}

// x returns where on the axis v is.
func (d *drawing) x(v float64) float64 { return d.left + d.scale.at(v)*(d.right-d.left) }

// printf appends to the document. Numbers are strings from px, texts are escaped
// by the caller.
func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(&d.out, format+"\n", args...) }

// px writes a coordinate, to a tenth of a pixel.
func px(v float64) string {
	text := strconv.FormatFloat(v, 'f', 1, 64)
	return strings.TrimSuffix(text, ".0")
}

func (d *drawing) render() []byte {
	entries, legendHeight := d.legend()
	top := margin + titleSize + 12 + legendHeight + 14
	bottom := top
	for i := range d.groups {
		bottom += d.groupHeight(i) + groupGap
	}
	height := bottom + 2*lineHeight + 8 + margin

	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %[1]s %[2]s" role="img" aria-labelledby="title desc">`, px(chartWidth), px(height))
	d.printf(`<title id="title">%s</title>`, escape(d.title))
	d.printf(`<desc id="desc">%s</desc>`, escape(d.description()))
	d.printf("<style>\n%s</style>", style(len(d.series)))
	d.printf(`<rect class="card" x="0.5" y="0.5" width="%s" height="%s" rx="8"/>`, px(chartWidth-1), px(height-1))
	d.printf(`<text class="title" x="%s" y="%s">%s</text>`, px(margin), px(margin+titleSize*0.8), escape(d.title))
	d.out.WriteString(entries)
	d.axis(top, bottom)
	y := top + groupGap/2
	for i, g := range d.groups {
		d.group(i, g, y)
		y += d.groupHeight(i) + groupGap
	}
	d.printf(`</svg>`)
	return d.out.Bytes()
}

// legend returns the entries of the legend, in as many lines as they need, and
// their height.
func (d *drawing) legend() (string, float64) {
	var out strings.Builder
	x, y := margin, margin+titleSize+12
	for i, label := range d.series {
		w := swatch + 6 + width(label, textSize)
		if x > margin && x+w > chartWidth-margin {
			x, y = margin, y+lineHeight+2
		}
		fmt.Fprintf(&out, `<rect class="s%d" x="%s" y="%s" width="%s" height="%[4]s" rx="2"/>`+"\n", i%len(palette), px(x), px(y), px(swatch))
		fmt.Fprintf(&out, `<text x="%s" y="%s">%s</text>`+"\n", px(x+swatch+6), px(y+swatch/2+textSize*capHeight), escape(label))
		x += w + 20
	}
	return out.String(), y + swatch - (margin + titleSize + 12)
}

// axis draws the grid's lines, their numbers and the unit.
func (d *drawing) axis(top, bottom float64) {
	for _, tick := range d.scale.ticks {
		class := "grid"
		if tick == d.scale.from {
			class = "base"
		}
		x := px(math.Round(d.x(tick)) + 0.5) // a sharp line of one pixel
		d.printf(`<line class="%s" x1="%s" y1="%s" x2="%[2]s" y2="%[4]s"/>`, class, x, px(top), px(bottom))
		d.printf(`<text class="tick" x="%s" y="%s">%s</text>`, x, px(bottom+lineHeight-1), number(tick))
	}
	unit := d.unit
	if d.scale.log {
		unit += " (logarithmic scale)"
	}
	d.printf(`<text class="unit" x="%s" y="%s">%s</text>`, px((d.left+d.right)/2), px(bottom+2*lineHeight+4), escape(unit))
}

func (d *drawing) groupHeight(i int) float64 {
	return max(float64(len(d.groups[i].Bars))*barStep, float64(len(d.labels[i]))*lineHeight)
}

// group draws a group whose top is at y.
func (d *drawing) group(i int, g Group, y float64) {
	middle := y + d.groupHeight(i)/2
	first := middle - float64(len(d.labels[i])-1)*lineHeight/2 + textSize*capHeight
	for n, line := range d.labels[i] {
		d.printf(`<text class="group" x="%s" y="%s">%s</text>`, px(d.left-1.5*gap), px(first+float64(n)*lineHeight), escape(line))
	}
	y = middle - float64(len(g.Bars))*barStep/2 + (barStep-barHeight)/2
	for _, b := range g.Bars {
		d.bar(b, y)
		y += barStep
	}
}

// bar draws a bar whose top is at y, its whisker and its value.
func (d *drawing) bar(b Bar, y float64) {
	if figure(b.Value) && d.x(b.Value) > d.left {
		d.printf(`<rect class="s%d" x="%s" y="%s" width="%s" height="%s"/>`, d.color(b), px(d.left), px(y), px(d.x(b.Value)-d.left), px(barHeight))
	}
	middle := y + barHeight/2
	if b.hasWhisker() {
		low, high, cap := px(d.x(b.Low)), px(d.x(b.High)), barHeight/4
		shape := fmt.Sprintf("M%s %sH%sM%[1]s %[4]sV%[5]sM%[3]s %[4]sV%[5]s", low, px(middle), high, px(middle-cap), px(middle+cap))
		d.printf(`<path class="halo" d="%s"/><path class="whisker" d="%[1]s"/>`, shape)
	}
	class := "value"
	if !figure(b.Value) {
		class = "value none"
	}
	d.printf(`<text class="%s" x="%s" y="%s">%s</text>`, class, px(d.x(b.reach())+gap), px(middle+valueSize*capHeight), b.text())
}

// color is the number of the color of the bar's series.
func (d *drawing) color(b Bar) int {
	for i, label := range d.series {
		if label == b.Label {
			return i % len(palette)
		}
	}
	return 0
}

// description says in words what the bars show, for those who cannot see them.
func (d *drawing) description() string {
	var groups []string
	for _, g := range d.groups {
		var bars []string
		for _, b := range g.Bars {
			bars = append(bars, b.Label+" "+b.text())
		}
		groups = append(groups, g.Label+": "+strings.Join(bars, ", "))
	}
	return "Bar chart of " + d.unit + ". " + strings.Join(groups, "; ") + "."
}
