package conformance

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options say what to check and how. The zero value checks everything.
type Options struct {
	// Rules are the rules to check; nil means all of Rules().
	Rules []Rule
	// Parallel is how many cases run at a time; 0 means 36. Most of them wait
	// most of the time.
	Parallel int
	// OnResult is called with each result as soon as it is there, from one
	// goroutine at a time. It may be nil.
	OnResult func(Result)

	// Seed is that of all random choices, to repeat what a failure has printed. 0 is
	// another one each time.
	Seed uint64

	// Exact says that nothing is slow by itself and that waiting costs nothing, as in
	// virtual time (package testing/synctest): random rules try many seeds, and
	// whatever takes time or fails without a fault breaks a promise. Otherwise they
	// run for some ten seconds, and cases that take minutes are left out.
	Exact bool

	// Programs is how many programs of random calls each case of G1 runs. 0 is as many
	// as ten seconds allow, or 200 if Exact. Otherwise Harness.Timeout, which bounds each
	// case, has to be long enough for them.
	Programs int

	// Soak is how long the random programs over the recipes, rule G2, run under random
	// faults; Harness.Timeout of that rule is longer by as much. 0 is 12 seconds. A
	// driver that is given to others has run for ten minutes at the least.
	Soak time.Duration

	// Crash is where the results so far are printed if the process ends in the
	// middle of the run, as it does when a goroutine of the driver's panics. Nil is
	// standard error for Run and RunWith; Check prints nothing then. For the time of
	// the run it takes a second process of the same program, and GODEBUG is set so that
	// the trace of a panic names the case in its goroutine's labels.
	Crash *os.File
}

// Check checks the driver of a harness against the contract, and the recipes over
// it against their promises, and returns the results. It needs no testing.T. The
// error says what is wrong with the harness; that rules are broken is not an error
// but in the Report.
//
// ctx bounds the whole run: when it ends, what was not checked is NotVerified.
func Check(ctx context.Context, h Harness, o Options) (Report, error) {
	start := time.Now()
	r, err := newRunner(h, o)
	if err != nil {
		return Report{}, err
	}
	defer r.stop()
	if o.Crash != nil {
		if r.notes, err = newCrashNotes(r.h, r.rules, r.seed, o.Crash); err != nil {
			return Report{}, fmt.Errorf("conformance: starting the process that Options.Crash asks for: %w", err)
		}
	}
	report := Report{Harness: r.h.Name, Results: make([]Result, len(r.rules)), ttl: r.h.TTL}
	var running sync.WaitGroup
	var reporting sync.Mutex
	for i, rule := range r.rules {
		var cases []<-chan CaseResult
		for _, c := range rule.Cases {
			cases = append(cases, r.start(ctx, rule, c))
		}
		running.Go(func() {
			results := make([]CaseResult, len(cases))
			for j, c := range cases {
				results[j] = <-c
			}
			report.Results[i] = judge(rule, results, r.h.Waive[rule.ID])
			if o.OnResult != nil {
				reporting.Lock()
				defer reporting.Unlock()
				o.OnResult(report.Results[i])
			}
		})
	}
	running.Wait()
	report.Took, report.Late = time.Since(start), r.pulse.most()
	return report, nil
}

// runner runs cases, a number of them at a time.
type runner struct {
	h     Harness
	rules []Rule
	seed  uint64
	exact bool
	count int // Options.Programs
	soak  time.Duration
	id    string // makes namespaces that no other run uses
	slots chan struct{}
	pulse pulse
	notes *crashNotes
	end   chan struct{}
	ended sync.WaitGroup
}

func newRunner(h Harness, o Options) (*runner, error) {
	if o.Rules == nil {
		o.Rules = Rules()
	}
	if o.Parallel == 0 {
		o.Parallel = 36
	}
	h, err := complete(h, o.Rules)
	if err != nil {
		return nil, err
	}
	if !o.Exact {
		o.Rules = inRealTime(o.Rules)
	}
	r := &runner{
		h: h, rules: o.Rules, seed: cmp.Or(o.Seed, mathrand.Uint64()|1), exact: o.Exact, count: o.Programs, soak: o.Soak, id: strings.ToLower(rand.Text()[:8]),
		slots: make(chan struct{}, max(1, o.Parallel)), end: make(chan struct{}),
	}
	r.ended.Go(func() { r.pulse.run(r.end) })
	return r, nil
}

// inRealTime returns the rules without the cases that take minutes.
func inRealTime(rules []Rule) []Rule {
	rules = slices.Clone(rules)
	for i := range rules {
		rules[i].Cases = slices.DeleteFunc(slices.Clone(rules[i].Cases), func(c Case) bool { return c.virtual })
	}
	return rules
}

// stop releases what the runner holds, after all cases have ended.
func (r *runner) stop() {
	close(r.end)
	r.ended.Wait()
	r.notes.over()
}

// start begins a case, or lets it wait for its turn, and returns where its
// result will be.
func (r *runner) start(ctx context.Context, rule Rule, c Case) <-chan CaseResult {
	result := make(chan CaseResult, 1)
	end := func(res CaseResult) {
		r.notes.ended(rule, res)
		result <- res
	}
	if why := missing(r.h, c.Needs); why != "" {
		end(CaseResult{Name: c.Name, Status: NotVerified, Detail: why})
		return result
	}
	stopped := CaseResult{Name: c.Name, Status: NotVerified, Detail: "the run was stopped before the case had ended"}
	slots := r.slots
	if c.idle {
		slots = make(chan struct{}, 1)
	}
	go func() {
		select { // if both are ready the case is begun and finds its ctx ended
		case slots <- struct{}{}:
		case <-ctx.Done():
			end(stopped)
			return
		}
		defer func() { <-slots }()
		r.notes.began(rule, c)
		start := time.Now()
		namespace := namespaceOf(r.id, rule, c)
		res := r.try(ctx, namespace, c, c.Check)
		if res.Status == Failed && c.plain != nil {
			if plain := r.try(ctx, namespace+"-plain", c, c.plain); plain.Status != Passed {
				res.Status = NotVerified
				res.Detail = "it does not pass with the plain calls either, which is for their rule: " + plain.Detail
			}
		}
		if res.Status == Failed && ctx.Err() != nil {
			end(stopped) // it may have failed for that only
			return
		}
		res.Name, res.Took = c.Name, time.Since(start)
		end(res)
	}()
	return result
}

// try runs a check of a case once.
func (r *runner) try(ctx context.Context, namespace string, c Case, check func(*Trial)) CaseResult {
	h := r.h
	if r.exact {
		h.Timeout *= max(1, c.patience) // which costs nothing then
	}
	if c.soaks {
		h.Timeout += r.soak
	}
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	t := &Trial{
		h: h, ctx: ctx, cancel: cancel, pulse: &r.pulse, exact: r.exact, count: r.count, soak: r.soak,
		seed: r.seed, namespace: namespace,
	}
	status, detail := t.run(check)
	return CaseResult{Status: status, Detail: detail, Absent: t.vacant()}
}

// namespaceOf names a case's namespace, in the form that driver.Namespace wants.
func namespaceOf(run string, rule Rule, c Case) string {
	plain := func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}
	return fmt.Sprintf("conformance-%s/%s-%s", run, rule.ID, strings.Map(plain, c.Name))
}
