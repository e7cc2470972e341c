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
// store, number of members and network. What was there is replaced, and what belongs
// to others is left.
func (r *Run) Write(dir string, verdicts []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text := append([]byte("# Benchmarks\n\n"), r.Markdown()...)
	text = append(text, verdicts...)
	for _, g := range r.groups() {
		name := g.file()
		if err := os.WriteFile(filepath.Join(dir, name), g.plot(), 0o644); err != nil {
			return err
		}
		title := g[0].title()
		heading := "## " + title + "\n"
		text = []byte(strings.Replace(string(text), heading, fmt.Sprintf("%s\n![%s](%s)\n", heading, title, name), 1))
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

// file is the name of the plot, as in "etcd-1ms.svg" or "etcd-3-1ms.svg".
func (g group) file() string {
	c := g[0]
	if c.Members == 1 {
		return fmt.Sprintf("%s-%s.svg", c.Store, c.Network.Name())
	}
	return fmt.Sprintf("%s-%d-%s.svg", c.Store, c.Members, c.Network.Name())
}

// plot shows the cases that have rates.
func (g group) plot() []byte {
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
	return chart.Bars(g[0].title(), "per second", groups)
}
