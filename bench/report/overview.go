package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/coordkit/coordkit/bench/contest"
)

// overview is what one store with one number of members did over all networks, side by
// side.
type overview struct {
	title                  string
	cases, sides, networks []string // by their names, in the order of the contests
	contests               []*Contest
}

// overviews returns those of the run, in the order of its contests.
func (r *Run) overviews() []*overview {
	var all []*overview
	for i := range r.Contests {
		c := &r.Contests[i]
		at := slices.IndexFunc(all, func(o *overview) bool { return o.title == c.where() })
		if at < 0 {
			all, at = append(all, &overview{title: c.where()}), len(all)
		}
		all[at].add(c)
	}
	return all
}

func (o *overview) add(c *Contest) {
	o.contests = append(o.contests, c)
	o.cases = appendNew(o.cases, c.Case)
	o.networks = appendNew(o.networks, c.Network.Name())
	for _, e := range c.Entries {
		o.sides = appendNew(o.sides, e.Side)
	}
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// contest is a case over a network; nil if it was not run.
func (o *overview) contest(name, network string) *Contest {
	for _, c := range o.contests {
		if c.Case == name && c.Network.Name() == network {
			return c
		}
	}
	return nil
}

// ratios is a table of how many times better coordkit is than each peer.
func (o *overview) ratios(b *bytes.Buffer) {
	peers := slices.DeleteFunc(slices.Clone(o.sides), func(side string) bool { return side == contest.Ours })
	if len(peers) == 0 {
		return
	}
	b.WriteString("\nHow many times better coordkit's median is than the peer's:\n\n| |")
	for _, peer := range peers {
		for _, n := range o.networks {
			fmt.Fprintf(b, " %s<br>%s |", peer, n)
		}
	}
	fmt.Fprintf(b, "\n|---|%s\n", strings.Repeat("--:|", len(peers)*len(o.networks)))
	for _, name := range o.cases {
		fmt.Fprintf(b, "| %s |", name)
		for _, peer := range peers {
			for _, n := range o.networks {
				fmt.Fprintf(b, " %s |", o.contest(name, n).cell(peer, (*Contest).ratio))
			}
		}
		b.WriteByte('\n')
	}
	b.WriteString("\n**Bold**: coordkit is behind. ≈: a tie, as the turns of both overlap.\n")
}

// figures is a table of what each side did in each case.
func (o *overview) figures(b *bytes.Buffer) {
	fmt.Fprintf(b, "\nThe median of the turns, with the lowest and the highest:\n\n| | | %s |\n|---|---|%s\n",
		strings.Join(o.networks, " | "), strings.Repeat("--:|", len(o.networks)))
	for _, name := range o.cases {
		label := " " + name + ", " + o.unit(name)
		for _, side := range o.sides {
			var cells []string
			for _, n := range o.networks {
				cells = append(cells, o.contest(name, n).cell(side, (*Contest).figure))
			}
			if slices.ContainsFunc(cells, func(cell string) bool { return cell != none }) {
				fmt.Fprintf(b, "|%s | %s | %s |\n", label, side, strings.Join(cells, " | "))
				label = ""
			}
		}
	}
}

func (o *overview) unit(name string) string {
	return o.contests[slices.IndexFunc(o.contests, func(c *Contest) bool { return c.Case == name })].Unit
}

// figure is a cell of the table of figures.
func (c *Contest) figure(e Entry) string {
	return fmt.Sprintf("%s (%s–%s)%s", figure(e.Median), figure(e.Low), figure(e.High), mark(e))
}

// cell shows a side's entry. c may be nil.
func (c *Contest) cell(side string, show func(*Contest, Entry) string) string {
	if c == nil {
		return none
	}
	e, ok := c.Entry(side)
	switch {
	case !ok:
		return none
	case e.Error != "":
		return "failed"
	}
	return show(c, e)
}

// ratio is a cell of the table of ratios.
func (c *Contest) ratio(e Entry) string {
	text := orNone(e.Ratio)
	low, high := c.Span(e)
	switch {
	case e.Ratio == 0:
	case low <= 1 && high >= 1:
		text = "≈ " + text
	case e.Ratio < 1:
		text = "**" + text + "**"
	}
	return text + mark(e)
}
