package conformance

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/model"
	"github.com/coordkit/coordkit/conformance/internal/random"
)

// callRules are about random programs of calls.
func callRules() []Rule {
	rule := Rule{ID: "G1", Text: "Random calls of several sessions, under random faults, see every rule of the contract kept."}
	needs := []Need{0, 0, NeedLink, 0}
	wants := [][]Need{3: {NeedExpire, NeedRemoveNode, NeedRemoveDir}} // programs do without what is missing
	for i, kind := range random.Kinds() {
		rule.Cases = append(rule.Cases, Case{
			Name: kind.Name, Needs: needs[i], patience: 10_000,
			Check: func(t *Trial) {
				t.calls(kind)
				t.lacks(wants[i])
			},
		})
	}
	return []Rule{rule}
}

// lacks says, of programs that kept every rule, what was left out of them for want of a
// harness that can do it.
func (t *Trial) lacks(wants []Need) {
	var all []string
	for _, need := range wants {
		if lack := missing(t.h, need); lack != "" {
			all = append(all, lack)
		}
	}
	if len(all) > 0 {
		t.NotVerified("%s (programs without that kept every rule)", strings.Join(all, "; "))
	}
}

// How long random calls are made, how many programs of them at a time, and how many
// where waiting costs nothing.
const (
	callsLast     = 10 * time.Second
	callsAtOnce   = 3
	callsPrograms = 200
)

// calls runs random programs of a kind, and fails the trial with the first that breaks
// a rule.
func (t *Trial) calls(kind random.Kind) {
	lanes, count := callsAtOnce, t.count
	if t.exact {
		lanes, count = 1, cmp.Or(count, callsPrograms)
	}
	start := time.Now()
	var next atomic.Int64
	var mu sync.Mutex
	var failed *playing
	var running []<-chan struct{}
	for range lanes {
		running = append(running, t.Go(func() {
			for t.ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if count > 0 && i >= count || count == 0 && time.Since(start) > callsLast {
					return
				}
				p := random.Generate(kind, t.store(), t.seed+uint64(i))
				if played := t.play(p); played.broken != nil {
					mu.Lock()
					failed = &played
					mu.Unlock()
					next.Store(1 << 40) // no more
				}
			}
		}))
	}
	for _, over := range running {
		<-over // it ends with the trial
	}
	mu.Lock()
	defer mu.Unlock()
	if failed != nil {
		t.explain(*failed)
	}
}

// store is where the programs of the trial run.
func (t *Trial) store() random.Store {
	return random.Store{Harness: t.h, Namespace: t.namespace, Lag: t.pulse.lag}
}

// playing is a program that was run, what happened, and the first rule that it broke,
// if it did.
type playing struct {
	program random.Program
	history *model.History
	broken  *model.Violation
}

// plays counts the programs that were run, each in directories of its own.
var plays atomic.Int64

// play runs a program.
func (t *Trial) play(p random.Program) playing {
	h, err := random.Run(t.ctx, t.store(), p, fmt.Sprintf("q%dq", plays.Add(1)))
	switch {
	case t.ctx.Err() != nil:
		t.NotVerified("the case was ended")
	case err != nil:
		t.Fatalf("seed %d: no program can be run: %v", p.Seed, err)
	}
	played := playing{program: p, history: h}
	if found := model.Judge(h); len(found) > 0 {
		played.broken = &found[0]
	}
	return played
}

// explain makes a program that broke a rule smaller, as far as it breaks that rule again,
// and fails the trial with it.
func (t *Trial) explain(p playing) {
	rule, seed := p.broken.Rule, p.program.Seed
	tries, until := 60, time.Now().Add(t.h.Timeout/4)
	if t.exact {
		tries, until = 500, time.Now().Add(t.h.Timeout/2)
	}
	again, runs := 0, 0
	fails := func(smaller random.Program, times int) bool {
		for range times {
			if time.Now().After(until) {
				return false
			}
			runs++
			if played := t.play(smaller); played.broken != nil && played.broken.Rule == rule {
				p = played
				return true
			}
		}
		return false
	}
	for range 3 {
		if fails(p.program, 1) {
			again++
		}
	}
	if again > 0 {
		times := 1 // that a program is run to see whether it fails
		if again < 3 {
			times = 4
		}
		random.Shrink(p.program, tries/times, func(smaller random.Program) bool { return fails(smaller, times) })
	}
	text := ""
	for _, r := range DriverRules() {
		if r.ID == rule {
			text = r.Text
		}
	}
	t.Fatalf("%s is broken: %s\n%s\nIt broke that rule again in %d of 3 runs, and was made smaller in %d more.\nTo repeat it: Options{Seed: %d, Rules: the rule G1 of RandomRules, Programs: 1, Exact: %t}.\nHow to read it: doc/writing-a-driver.md, \"A random program that failed\".",
		rule, text, random.Report(p.program, p.history, *p.broken), again, runs-3, seed, t.exact)
}
