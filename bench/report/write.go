package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/coordkit/coordkit/bench/chart"
)

// Writable returns an error if results cannot be written to a directory, which it
// makes. An empty name is fine.
func Writable(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".writable-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Write writes the run into a directory: README.md with the verdicts on the
// targets, which are Markdown, at its end, results.json, and a plot for each
// store. What was there is replaced, and what belongs to other stores is left.
func (r *Run) Write(dir string, verdicts []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text := append([]byte("# Benchmarks\n\n"), r.Markdown()...)
	text = append(text, verdicts...)
	for _, g := range r.groups() {
		name := g.file()
		if err := os.WriteFile(filepath.Join(dir, name), g.plot(r.Network), 0o644); err != nil {
			return err
		}
		heading := "## " + g.title() + "\n"
		text = []byte(strings.Replace(string(text), heading, fmt.Sprintf("%s\n![%s](%s)\n", heading, g.title(), name), 1))
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), text, 0o644); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "results.json"), append(data, '\n'), 0o644)
}

func (g group) file() string {
	if g[0].Members == 1 {
		return g[0].Store + ".svg"
	}
	return fmt.Sprintf("%s-%d.svg", g[0].Store, g[0].Members)
}

// plot shows the cases that have rates.
func (g group) plot(n Network) []byte {
	var groups []chart.Group
	for _, c := range g {
		if c.Less {
			continue
		}
		bars := chart.Group{Label: c.Case}
		for _, e := range c.Entries {
			b := chart.Bar{Label: e.Side, Value: e.Median, Low: e.Low, High: e.High}
			if e.Error != "" {
				b = chart.Bar{Label: e.Side, Value: math.NaN()}
			}
			bars.Bars = append(bars.Bars, b)
		}
		groups = append(groups, bars)
	}
	return chart.Bars(g.title()+n.suffix(), "per second", groups)
}
