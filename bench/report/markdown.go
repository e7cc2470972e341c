package report

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Markdown writes the run down, but for its targets.
func (r *Run) Markdown() []byte {
	var b bytes.Buffer
	r.circumstances(&b)
	if err := r.Failures(); err != nil {
		fmt.Fprintf(&b, "\nWhere coordkit failed:\n\n- %s\n", strings.ReplaceAll(err.Error(), "\n", "\n- "))
	}
	for _, o := range r.overviews() {
		fmt.Fprintf(&b, "\n## %s\n", o.title)
		o.ratios(&b)
		o.figures(&b)
	}
	for _, group := range r.groups() {
		fmt.Fprintf(&b, "\n## %s\n", group[0].title())
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
	versions := []string{m.Go}
	for _, name := range slices.Sorted(maps.Keys(r.Versions)) {
		versions = append(versions, name+" "+r.Versions[name])
	}
	fmt.Fprintf(b, "Versions: %s.\n\nNetworks:\n\n", strings.Join(versions, ", "))
	for _, n := range r.Networks() {
		fmt.Fprintf(b, "- %s: %s.\n", n.Name(), n)
	}
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
All sides work on the same servers, in turns (A B C, C B A, B C A, …). Each turn has a warm-up of its own. Each network has
servers of its own. The servers sync each write to the disk before they answer it. Figures are medians of the turns.
*×* is how many times better coordkit's median is than the side's. *Of pairs* is the lowest and the highest ratio of single
turns. *–*: not run, or the side has no such recipe. †: the side did not finish in the time it was given, and had no more turns.
`)
}

// group is the contests on one store with one number of members, over one network.
type group []*Contest

// groups returns those of the run, in the order of its contests.
func (r *Run) groups() []group {
	var all []group
	for i := range r.Contests {
		c := &r.Contests[i]
		at := slices.IndexFunc(all, func(g group) bool { return g[0].title() == c.title() })
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

// where is the store and its number of members, as in "etcd, one server".
func (c *Contest) where() string {
	if c.Members == 1 {
		return StoreName(c.Store) + ", one server"
	}
	return fmt.Sprintf("%s, %d members", StoreName(c.Store), c.Members)
}

// title is the heading of the contests of a network.
func (c *Contest) title() string { return c.where() + ", " + c.Network.Name() }

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
				fmt.Fprint(b, "\nEach waiter in the client's process takes\n\n| | of | goroutines | connections | heap, KiB | stacks, KiB |\n|---|--:|--:|--:|--:|--:|\n")
				begun = true
			}
			fmt.Fprintf(b, "| %s, %s | %d | %.2f | %.2f | %.1f | %.1f |\n", c.Case, e.Side, e.Waiting.Waiters, e.Waiting.Goroutines, e.Waiting.Connections, e.Waiting.HeapBytes/1024, e.Waiting.StackBytes/1024)
		}
	}
}
