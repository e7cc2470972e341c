package random

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/model"
)

// Report prints a program with what it was told, and what is wrong with that. The
// directories have the names that they had in the store.
func Report(p Program, h *model.History, v model.Violation) string {
	p.Dirs = h.Dirs
	r := &report{h: h, wrong: v.Call, told: make(map[string][]*model.Call), names: make(map[string]string), cited: make(map[string]bool)}
	for _, step := range steps.FindAllString(v.Text, -1) {
		r.cited[step] = true
	}
	for _, c := range h.Calls {
		r.told[c.Name] = append(r.told[c.Name], c)
	}
	for _, s := range h.Sessions {
		r.names[s.ID] = s.Name
	}
	for i, linked := range p.Links {
		what := "opened"
		if i == 0 {
			what = "an observer's, opened"
		}
		if linked {
			what = fmt.Sprintf("opened through link%d", i)
		}
		fmt.Fprintf(r, "conn%d: %s\n", i, what)
	}
	for i, wave := range p.Waves {
		mark := fmt.Sprintf("%2d", i+1)
		for _, s := range wave {
			r.line(mark, s.name(), p.text(s))
			mark = "  "
		}
	}
	r.end()
	fmt.Fprintf(r, "%s", v)
	return r.String()
}

// steps finds the names of steps in a text.
var steps = regexp.MustCompile(`#[0-9]+`)

// report is being written.
type report struct {
	strings.Builder
	h     *model.History
	wrong *model.Call
	told  map[string][]*model.Call // by step
	names map[string]string        // of sessions, by ID
	cited map[string]bool          // by step: the violation names it
}

// end prints the last lists, what was wrong when all faults were over, and what the violation
// names.
func (r *report) end() {
	title := "in the end, when all faults are over:\n"
	for _, c := range r.h.Calls {
		if r.told[c.Name] == nil || !c.Final && c != r.wrong && !r.cited[c.Name] {
			continue
		}
		r.WriteString(title)
		title = ""
		who := fmt.Sprintf("conn%d", c.Conn)
		if c.Session != nil {
			who = c.Session.Name
		}
		about := ""
		switch {
		case len(c.Nodes) > 0:
			about = r.short(c.Nodes...)
		case c.Dir != "":
			about = fmt.Sprintf("%q", c.Dir)
		}
		r.line("  ", c.Name, who+"."+strings.TrimPrefix(string(c.Op), "Conn.")+"("+about+")")
	}
}

// line prints a step with the answers that its calls got: the last of those that were
// repeated, and the one that is wrong.
func (r *report) line(mark, name, text string) {
	fmt.Fprintf(r, "%s %-4s %s\n", mark, name, text)
	calls := r.told[name]
	delete(r.told, name)
	for i, c := range calls {
		if i != len(calls)-1 && c != r.wrong {
			continue
		}
		fmt.Fprintf(r, "            = %s", r.answer(c))
		if i > 0 {
			fmt.Fprintf(r, " (call %d)", i+1)
		}
		if c == r.wrong {
			r.WriteString("   <-- this is wrong")
		}
		r.WriteString("\n")
	}
}

// answer prints what a call returned, and when.
func (r *report) answer(c *model.Call) string {
	took := fmt.Sprintf("  [at %v, took %v]", c.BeginAt.Round(time.Microsecond), (c.EndAt - c.BeginAt).Round(time.Microsecond))
	switch {
	case c.Op == model.Watch:
		var states []string
		for _, s := range c.States {
			states = append(states, r.short(s.Nodes...))
		}
		if c.Err != nil {
			states = append(states, fmt.Sprintf("%q", c.Err))
		}
		return strings.Join(states, ", then ")
	case c.End == 0:
		return "has not returned"
	case c.Err != nil:
		return fmt.Sprintf("%q%s", c.Err, took)
	}
	switch c.Op {
	case model.Create, model.Update:
		return r.short(c.Node) + took
	case model.CreateList:
		return r.short(c.Node) + ", " + r.short(c.List...) + took
	case model.List, model.ListNames, model.ConnList:
		return r.short(c.List...) + took
	case model.WaitAny:
		return fmt.Sprint(c.Index, took)
	}
	return "nil" + took
}

// short prints nodes by session, id and Seq.
func (r *report) short(nodes ...model.Node) string {
	var all []string
	for _, n := range nodes {
		who := r.names[n.Session]
		if who == "" {
			who = n.Session
		}
		all = append(all, fmt.Sprintf("%s %q seq %d with %v", who, n.ID, n.Seq, n.Data))
	}
	return "[" + strings.Join(all, "; ") + "]"
}
