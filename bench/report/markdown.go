package report

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
)

// Markdown writes the run down, but for its targets.
func (r *Run) Markdown() []byte {
	var b bytes.Buffer
	r.circumstances(&b)
	r.behind(&b)
	for _, group := range r.groups() {
		fmt.Fprintf(&b, "\n## %s\n\n", group.title())
		group.summary(&b)
		for _, c := range group {
			c.markdown(&b)
		}
		group.waiting(&b)
	}
	return b.Bytes()
}

func (r *Run) circumstances(b *bytes.Buffer) {
	m := r.Machine
	fmt.Fprintf(b, "Run on %s in %s by `%s`.\n", r.Began.UTC().Format(time.DateTime+" MST"), r.Took, r.Command)
	fmt.Fprintf(b, "Machine: %s, %s, %d processors, which clients and servers share; fdatasync %.0f µs; load at the start %s.\n",
		m.System, m.Processor, m.Processors, m.Sync, m.Load)
	fmt.Fprintf(b, "Network: %s.\n", r.Network)
	versions := []string{m.Go}
	for _, name := range slices.Sorted(maps.Keys(r.Versions)) {
		versions = append(versions, name+" "+r.Versions[name])
	}
	fmt.Fprintf(b, "Versions: %s.\n", strings.Join(versions, ", "))
	if r.Unfinished {
		fmt.Fprintln(b, "\nThe run had not come to its end when this was written.")
	}
	if r.Short {
		fmt.Fprintln(b, "\nA short run: its turns are short and few, and its numbers rough.")
	}
	if len(r.Left) > 0 {
		fmt.Fprintf(b, "\nThere was no time for %s.\n", strings.Join(r.Left, "; "))
	}
	fmt.Fprint(b, `
Each side has its turns on the same servers in one run, one after the other (A B C, C B A, B C A, …), each with a warm-up of
its own. Figures are medians of the turns, with the lowest and the highest. *×* is how many times better coordkit's median
is than the side's: below 1.00, coordkit is behind; *of pairs* is the lowest and highest of that in single turns. Writes are synced to the disk before they are answered.
`)
}

// behind lists where coordkit failed, and where it is not ahead.
func (r *Run) behind(b *bytes.Buffer) {
	if err := r.Failures(); err != nil {
		fmt.Fprintf(b, "\nWhere coordkit failed:\n\n- %s\n", strings.ReplaceAll(err.Error(), "\n", "\n- "))
	}
	var behind, even []string
	for _, g := range r.groups() {
		for _, c := range g {
			for _, e := range c.Entries {
				text := fmt.Sprintf("%s: %s, %s (%s×)", g.title(), c.Case, e.Side, figure(e.Ratio))
				low, high := c.Span(e)
				switch {
				case e.Side == contest.Ours || e.Ratio == 0:
				case low <= 1 && high >= 1:
					even = append(even, text)
				case e.Ratio < 1:
					behind = append(behind, text)
				}
			}
		}
	}
	for _, l := range []struct {
		title string
		items []string
	}{{"coordkit is behind", behind}, {"it is a tie, as the turns of both overlap", even}} {
		fmt.Fprintf(b, "\nWhere %s: ", l.title)
		if len(l.items) == 0 {
			fmt.Fprintln(b, "nowhere in this run.")
			continue
		}
		fmt.Fprintf(b, "\n\n- %s\n", strings.Join(l.items, "\n- "))
	}
}

// group is the contests on one store.
type group []*Contest

// groups returns the contests by store and number of members, in their order.
func (r *Run) groups() []group {
	var all []group
	for i := range r.Contests {
		c := &r.Contests[i]
		at := slices.IndexFunc(all, func(g group) bool { return g[0].Store == c.Store && g[0].Members == c.Members })
		if at < 0 {
			all, at = append(all, nil), len(all)
		}
		all[at] = append(all[at], c)
	}
	return all
}

var storeNames = map[string]string{"etcd": "etcd", "zk": "ZooKeeper", "consul": "Consul"}

// StoreName is how a store is called where people read.
func StoreName(store string) string { return storeNames[store] }

func (g group) title() string {
	name := StoreName(g[0].Store)
	if g[0].Members == 1 {
		return name + ", one server"
	}
	return fmt.Sprintf("%s, %d members", name, g[0].Members)
}

// sides returns the names of all sides: coordkit and the floor, and then the
// others as they come.
func (g group) sides() []string {
	var all []string
	for _, c := range g {
		for _, e := range c.Entries {
			if !slices.Contains(all, e.Side) {
				all = append(all, e.Side)
			}
		}
	}
	rank := func(name string) int { return slices.Index([]string{contest.Floor, contest.Ours}, name) }
	slices.SortStableFunc(all, func(a, b string) int { return rank(b) - rank(a) })
	return all
}

// summary is a table of all cases and sides.
func (g group) summary(b *bytes.Buffer) {
	sides := g.sides()
	fmt.Fprintf(b, "| | %s |\n|---|%s\n", strings.Join(sides, " | "), strings.Repeat("--:|", len(sides)))
	for _, c := range g {
		fmt.Fprintf(b, "| %s, %s |", c.Case, c.Unit)
		for i, side := range sides {
			e, ok := c.Entry(side)
			switch {
			case !ok && slices.Contains(c.Absent, side):
				b.WriteString(" none |")
			case !ok:
				b.WriteString(" not run |")
			case e.Error != "":
				b.WriteString(" failed |")
			case i == 0 || e.Ratio == 0:
				fmt.Fprintf(b, " %s%s |", figure(e.Median), mark(e))
			default:
				fmt.Fprintf(b, " %s (%s×)%s |", figure(e.Median), figure(e.Ratio), mark(e))
			}
		}
		b.WriteByte('\n')
	}
	fmt.Fprintln(b, "\n*none*: there is no such recipe. †: it did not finish in the time it was given, and its figure is of fewer turns.")
}

func mark(e Entry) string {
	if e.Partial {
		return " †"
	}
	return ""
}

// markdown is the table of one case.
func (c *Contest) markdown(b *bytes.Buffer) {
	better := "more"
	if c.Less {
		better = "less"
	}
	fmt.Fprintf(b, "\n**%s**: %s; %s is better.\n\n", c.Case, c.About, better)
	fmt.Fprintf(b, "| | %s | low–high | × | of pairs | p50 | p99 | handoff p50 | p99 | requests/op | commits/op | syncs/op | out of order | fastest/slowest | CPU/op |\n", c.Unit)
	fmt.Fprintf(b, "|---|%s\n", strings.Repeat("--:|", 14))
	var notes []string
	for _, e := range c.Entries {
		if e.Error != "" {
			notes = append(notes, e.Side+" failed: "+e.Error)
			continue
		}
		fmt.Fprintf(b, "| %s%s | %s | %s–%s | %s | %s | %s | %s | %s | %s | %s |\n", e.Side, mark(e), figure(e.Median), figure(e.Low), figure(e.High),
			orNone(e.Ratio), pairs(e), e.Latency, e.Handoff, cost(e), e.Fairness, micro(e.CPU))
		for _, n := range slices.Compact(slices.Sorted(slices.Values(e.Notes))) {
			notes = append(notes, e.Side+": "+n)
		}
	}
	for _, side := range slices.Sorted(maps.Keys(c.Unasked)) {
		notes = append(notes, fmt.Sprintf("%s was not asked: %s", side, c.Unasked[side]))
	}
	if len(c.Absent) > 0 {
		notes = append(notes, "no such recipe: "+strings.Join(c.Absent, "; "))
	}
	for i, n := range notes {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "- %s.\n", n)
	}
}

// waiting is a table of what it costs to stand in line.
func (g group) waiting(b *bytes.Buffer) {
	begun := false
	for _, c := range g {
		for _, e := range c.Entries {
			if e.Waiting == nil {
				continue
			}
			if !begun {
				fmt.Fprint(b, "\nEach who waits in the client's process takes\n\n| | of | goroutines | connections | heap, KiB | stacks, KiB |\n|---|--:|--:|--:|--:|--:|\n")
				begun = true
			}
			fmt.Fprintf(b, "| %s, %s | %d | %.2f | %.2f | %.1f | %.1f |\n", c.Case, e.Side, e.Waiting.Waiters, e.Waiting.Goroutines, e.Waiting.Connections, e.Waiting.HeapBytes/1024, e.Waiting.StackBytes/1024)
		}
	}
}
