package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"time"
)

// A panic in a goroutine that the driver has started ends the process, and what the
// suite has found so far would be lost with it. So a second process of the same
// program, the keeper, is told of each case that begins and ends, and prints a
// report if the first process ends in the middle of the run.

// keeperEnv is set in the environment of a keeper.
const keeperEnv = "COORDKIT_CONFORMANCE_KEEPER"

func init() {
	if os.Getenv(keeperEnv) == "" {
		return
	}
	signal.Ignore(os.Interrupt) // which ends the first process, and is to be reported
	keepReport(os.Stdin, os.Stdout)
	os.Exit(0)
}

// note is what a keeper is told: first the plan, then of cases, at last that the run
// is over.
type note struct {
	Harness string        `json:",omitempty"`
	Plan    []plannedRule `json:",omitempty"`
	Seed    uint64        `json:",omitempty"`
	Rule    string        `json:",omitempty"`
	Began   string        `json:",omitempty"` // the name of a case
	Ended   *CaseResult   `json:",omitempty"`
	Over    bool          `json:",omitempty"`
}

// plannedRule is a Rule without its checks.
type plannedRule struct {
	ID, Text, Waiver string
	Cases            []string
}

// crashNotes tells a keeper. A nil one has none to tell.
type crashNotes struct {
	keeper *exec.Cmd
	mu     sync.Mutex
	pipe   *os.File
	out    *json.Encoder
}

// newCrashNotes starts a keeper, which prints to the file given.
func newCrashNotes(h Harness, rules []Rule, seed uint64, to *os.File) (*crashNotes, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	in, pipe, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	n := &crashNotes{keeper: exec.Command(self), pipe: pipe, out: json.NewEncoder(pipe)}
	n.keeper.Env = append(os.Environ(), keeperEnv+"=1")
	n.keeper.Stdin, n.keeper.Stdout, n.keeper.Stderr = in, to, to
	if err := n.keeper.Start(); err != nil {
		_ = pipe.Close()
		return nil, err
	}
	var plan []plannedRule
	for _, r := range rules {
		p := plannedRule{ID: r.ID, Text: r.Text, Waiver: h.Waive[r.ID]}
		for _, c := range r.Cases {
			p.Cases = append(p.Cases, c.Name)
		}
		plan = append(plan, p)
	}
	n.tell(note{Harness: h.Name, Plan: plan, Seed: seed})
	labelTraces()
	return n, nil
}

// labelTraces has the runtime print the profiler labels of goroutines in its traces:
// what a case's driver has started carries the case's name.
func labelTraces() {
	const name, labels = "GODEBUG", "tracebacklabels"
	if have := os.Getenv(name); !strings.Contains(have, labels) {
		_ = os.Setenv(name, strings.TrimPrefix(have+","+labels+"=1", ",")) // a valid name and value
	}
}

func (n *crashNotes) tell(what note) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = n.out.Encode(what) // to a keeper that is gone there is nothing to tell
}

func (n *crashNotes) began(rule Rule, c Case) { n.tell(note{Rule: rule.ID, Began: c.Name}) }

func (n *crashNotes) ended(rule Rule, res CaseResult) { n.tell(note{Rule: rule.ID, Ended: &res}) }

// over ends the keeper.
func (n *crashNotes) over() {
	if n == nil {
		return
	}
	n.tell(note{Over: true})
	_ = n.pipe.Close()
	_ = n.keeper.Wait() // it has nothing to say
}

// keepReport is what the keeper does: it takes notes until there are no more, and
// prints what is known then unless the run is over.
func keepReport(notes io.Reader, w io.Writer) {
	start := time.Now()
	var plan note
	began, results := make(map[string]bool), make(map[string]CaseResult)
	in := json.NewDecoder(notes)
	for {
		var n note
		if in.Decode(&n) != nil {
			break
		}
		switch {
		case n.Over:
			return
		case n.Plan != nil:
			plan = n
		case n.Ended != nil:
			results[n.Rule+" "+n.Ended.Name] = *n.Ended
		default:
			began[n.Rule+" "+n.Began] = true
		}
	}
	report := Report{Harness: plan.Harness, Took: time.Since(start)}
	var underWay []string
	for _, p := range plan.Plan {
		var cases []CaseResult
		touched := false
		for _, name := range p.Cases {
			id := p.ID + " " + name
			res, ok := results[id]
			touched = touched || began[id]
			switch {
			case ok:
			case began[id]:
				underWay = append(underWay, id)
				res = CaseResult{Name: name, Status: NotVerified, Detail: "it was under way when the process ended"}
			default:
				res = CaseResult{Name: name, Status: NotVerified}
			}
			cases = append(cases, res)
		}
		if !touched {
			continue
		}
		res := judge(Rule{ID: p.ID, Text: p.Text}, cases, "")
		if res.Status != NotVerified {
			res = judge(res.Rule, cases, p.Waiver)
		}
		report.Results = append(report.Results, res)
	}
	fmt.Fprintf(w, "\nconformance: the process ended in the middle of the run. What was known of %s:\n\n", plan.Harness)
	_, _ = report.WriteTo(w) // there is nobody to tell that it failed
	fmt.Fprintf(w, "\nunder way when the process ended: %s\n", strings.Join(underWay, ", "))
	fmt.Fprintf(w, "Options{Seed: %d} makes the random choices of this run again.\n", plan.Seed)
}
