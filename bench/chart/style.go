package chart

import (
	"fmt"
	"strings"
)

// palette holds the series' colors, on a light and on a dark background. All
// stand out from both, and neighbors differ in brightness too, so that they can
// be told apart without seeing colors.
var palette = []struct{ light, dark string }{
	{"#0969da", "#4c9dff"}, // blue
	{"#e08a00", "#f0b040"}, // orange
	{"#1a7f5a", "#2fa97c"}, // green
	{"#c98bb9", "#d9a6cc"}, // pink
	{"#8a4b14", "#b06f35"}, // brown
	{"#8b949e", "#9aa4af"}, // gray
	{"#6f42c1", "#8f6ae0"}, // purple
	{"#3cb5c9", "#63d0e2"}, // cyan
}

// The background and what is drawn on it. Text has a contrast of 7 to 1 and more
// (WCAG 2, level AAA).
const (
	fonts = `text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;fill:#1f2328}
.title{font-size:17px;font-weight:600}
.group{text-anchor:end}
.tick,.unit{font-size:12px;text-anchor:middle;fill:#4d545c}
.value{font-size:12px;font-variant-numeric:tabular-nums}
.none{font-style:italic;fill:#4d545c}
`
	light = `.card{fill:#fff;stroke:#d1d9e0}
.grid{stroke:#e3e7eb}
.base{stroke:#818b98}
.halo{fill:none;stroke:#fff;stroke-width:3;stroke-opacity:.7}
.whisker{fill:none;stroke:#1f2328;stroke-width:1.2}
`
	dark = `text{fill:#f0f6fc}
.tick,.unit,.none{fill:#b7bfc8}
.card{fill:#0d1117;stroke:#3d444d}
.grid{stroke:#262c36}
.base{stroke:#848d97}
.halo{stroke:#0d1117}
.whisker{stroke:#f0f6fc}
`
)

// style returns the style sheet of a chart with that many series.
func style(series int) string {
	var out, inDark strings.Builder
	out.WriteString(fonts + light)
	for i := range min(series, len(palette)) {
		fmt.Fprintf(&out, ".s%d{fill:%s}\n", i, palette[i].light)
		fmt.Fprintf(&inDark, ".s%d{fill:%s}\n", i, palette[i].dark)
	}
	out.WriteString("@media (prefers-color-scheme:dark){\n" + dark + inDark.String() + "}\n")
	return out.String()
}
