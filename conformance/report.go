package conformance

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is the results of a run, in the order of the rules.
type Report struct {
	Harness string
	Results []Result
	Took    time.Duration

	// Late is the most that a timer of this process ran late during the run. A machine
	// that is too busy to run a timer is too busy to renew a lease as well: the
	// failures of such a run may be the machine's, and not the driver's.
	Late time.Duration

	ttl time.Duration // the harness's
}

// With returns the results that have the status.
func (r Report) With(s Status) []Result {
	var found []Result
	for _, res := range r.Results {
		if res.Status == s {
			found = append(found, res)
		}
	}
	return found
}

// Group is how many rules of those whose IDs have the same letter have passed.
type Group struct {
	// Name is the letter, as "S" for the rules of sessions.
	Name string
	// Passed of so many rules have passed. Of does not count what was not run,
	// nor what is about something that the driver does not offer.
	Passed, Of int
}

// Groups counts by the first letter of the rules' IDs. It has all groups of
// [Rules] in their order, so that reports line up, and then others.
func (r Report) Groups() []Group {
	var groups []Group
	at := func(id string) *Group {
		name := id[:min(len(id), 1)]
		i := slices.IndexFunc(groups, func(g Group) bool { return g.Name == name })
		if i < 0 {
			i = len(groups)
			groups = append(groups, Group{Name: name})
		}
		return &groups[i]
	}
	for _, rule := range Rules() {
		at(rule.ID)
	}
	for _, res := range r.Results {
		g := at(res.Rule.ID)
		if res.Absent {
			continue
		}
		g.Of++
		if res.Status == Passed {
			g.Passed++
		}
	}
	return groups
}

// Summary is one line: how many rules there are of each status.
func (r Report) Summary() string {
	return fmt.Sprintf("%s: %d rules: %d %v, %d %v, %d %v, %d %v (%v)", r.Harness, len(r.Results),
		len(r.With(Passed)), Passed, len(r.With(Failed)), Failed,
		len(r.With(NotVerified)), NotVerified, len(r.With(Waived)), Waived,
		r.Took.Round(100*time.Millisecond))
}

// WriteTo writes a table of the rules, each with its status and time, the
// details of all that did not simply pass, and the summary.
func (r Report) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, res := range r.Results {
		fmt.Fprintf(t, "%s\t%v\t%.1fs\t%s\n", res.Rule.ID, res.Status, res.Took.Seconds(), res.Rule.Text)
	}
	if err := t.Flush(); err != nil {
		return 0, err
	}
	for _, res := range r.Results {
		if res.Detail != "" {
			fmt.Fprintf(&b, "\n%s %v: %s\n\t%s\n", res.Rule.ID, res.Status, res.Rule.Text, indent(res.Detail))
		}
	}
	if r.Late > r.ttl/20 {
		fmt.Fprintf(&b, "\nThe machine was too busy: timers of this process ran up to %v late, of a TTL of %v. What failed may be the "+
			"machine's fault. Run fewer cases at a time (Options.Parallel), or with a longer TTL.\n", r.Late.Round(time.Millisecond), r.ttl)
	}
	fmt.Fprintf(&b, "\n%s\n", r.Summary())
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n\t") }
