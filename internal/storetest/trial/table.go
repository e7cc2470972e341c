package trial

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Table prints results, a row each, and a row for all of them.
func Table(results []Result) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "store\tfault\ttrials\tlost\toverlaps\texcused\tmargin min\tmedian\tleft\tunresolved\toverdue\tother\ttimers late") // errors are kept for Flush
	all := Result{Store: "all", Fault: ""}
	for _, r := range results {
		all.Add(r)
		r.row(w)
	}
	all.row(w)
	_ = w.Flush() // a Builder does not fail
	return b.String()
}

func (r Result) row(w *tabwriter.Writer) {
	least, median := "-", "-"
	if v := slices.Sorted(slices.Values(r.Margins)); len(v) > 0 {
		least, median = milliseconds(v[0]), milliseconds(v[len(v)/2])
	}
	fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\t%d\t%d\t%d\t%d\t%s\n", r.Store, r.Fault, r.Trials, r.Lost,
		r.Overlaps, r.Excused, least, median, r.Left, r.Unresolved, r.Overdue, r.Other, milliseconds(r.Late))
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }
