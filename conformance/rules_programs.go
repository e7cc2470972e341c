package conformance

import (
	"fmt"
	"time"

	"github.com/coordkit/coordkit/conformance/soak"
)

// programRules are about random programs over the recipes.
func programRules() []Rule {
	return []Rule{{
		ID:   "G2",
		Text: "Random programs over all recipes, under random faults, see every promise of the recipes kept.",
		Cases: []Case{
			{Name: "under faults", Needs: NeedLink, soaks: true, Check: func(t *Trial) { t.programs(soak.Options{}) }},
		},
	}}
}

// How long random programs run, beside other cases, and with how many seeds where
// waiting costs nothing.
const (
	programsLast  = 12 * time.Second
	programsSeeds = 8
)

// programs runs random programs, and fails the trial if a promise is broken. Those
// of several seeds run side by side.
func (t *Trial) programs(o soak.Options) {
	seeds := 1
	if t.exact {
		seeds = programsSeeds
	}
	var running []<-chan struct{}
	for i := range seeds {
		running = append(running, t.Go(func() { t.program(o, t.seed+uint64(i)) }))
	}
	for _, over := range running {
		<-over // it ends with the trial
	}
}

// program runs those of a seed.
func (t *Trial) program(o soak.Options, seed uint64) {
	o.Duration, o.Round, o.Exact, o.Seed = programsLast, programsLast, t.exact, seed
	if t.soak > 0 {
		o.Duration, o.Round = t.soak, 0
	}
	o.Clients, o.Workers = 2+int(seed%4), 4
	o.Namespace = fmt.Sprintf("%s-%d", t.namespace, seed-t.seed)
	h := t.h
	h.Residue = nil // it may count what other cases have
	r, err := soak.Run(t.ctx, h, o)
	switch {
	case t.ctx.Err() != nil: // which the trial says
	case err != nil:
		t.Fatalf("seed %d: no program can be run: %v", seed, err)
	case r.Failure() != "":
		again := fmt.Sprintf("Seed: %d, Rules: the rule G2 of RandomRules", seed)
		if t.exact {
			again += ", Exact: true"
		}
		if t.soak > 0 {
			again += fmt.Sprintf(", Soak: %v", t.soak)
		}
		t.Fatalf("%s\nTo repeat it: Options{%s}.", r.Failure(), again)
	}
}
