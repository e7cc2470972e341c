package trial

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/internal/storetest/register"
)

// Result counts what was found in the trials of a fault.
type Result struct {
	Store, Fault string

	Trials     int // whose holder had the lock when the fault began
	Lost       int // whose holder lost it
	Overlaps   int // trials in which two held the lock although nothing excuses it
	Excused    int // trials in which two held it as the store itself, or an operator, had ended the first hold
	Left       int // entries and sessions that are left in the store
	Unresolved int // calls that did not come to an end
	Overdue    int // calls that returned too late after their ctx had ended
	Other      int // other promises that were broken

	// Margins are the times from the end of a lost hold's context to the next grant.
	Margins []time.Duration

	// Late is the most that a timer of this process was late.
	Late time.Duration

	// Why says what excuses Excused.
	Why string

	// Broken explains each broken promise.
	Broken []string
}

// Add adds what was found in more trials of the same fault.
func (r *Result) Add(more Result) {
	r.Trials += more.Trials
	r.Lost += more.Lost
	r.Overlaps += more.Overlaps
	r.Excused += more.Excused
	r.Left += more.Left
	r.Unresolved += more.Unresolved
	r.Overdue += more.Overdue
	r.Other += more.Other
	r.Margins = append(r.Margins, more.Margins...)
	r.Late = max(r.Late, more.Late)
	r.Why = more.Why
	r.Broken = append(r.Broken, more.Broken...)
}

// Merge adds up the results that key gives the same store and fault, in the order of
// the first of each.
func Merge(results []Result, key func(Result) (store, fault string)) (merged []Result) {
	for _, r := range results {
		store, fault := key(r)
		i := slices.IndexFunc(merged, func(m Result) bool { return m.Store == store && m.Fault == fault })
		if i < 0 {
			i, merged = len(merged), append(merged, Result{Store: store, Fault: fault})
		}
		merged[i].Add(r)
	}
	return merged
}

// judge counts what was found.
func (b *batch) judge() Result {
	r := Result{Store: b.f.Store, Fault: b.f.Name, Late: b.clock.worst}
	overlaps, excused := make(map[string]bool), make(map[string]bool)
	for _, v := range b.history.Violations() {
		switch v.Promise {
		case history.Exclusion:
			overlaps[v.Object] = true
		case history.Deadline:
			r.Overdue++
		case history.Resolution:
			r.Unresolved++
		default:
			r.Other++
		}
		var text strings.Builder
		_ = b.history.Explain(&text, v) // a Builder does not fail
		r.Broken = append(r.Broken, text.String())
	}
	for _, v := range b.history.Excused() {
		excused[v.Object] = true
	}
	if r.Why = b.f.MayEnd; b.f.Outside {
		r.Why = "the hold was ended in the store, and its holder had not been told yet"
	}
	for _, t := range b.trials {
		b.judgeRegister(t, &r, overlaps, excused)
		if n := b.left[t.name]; n > 0 {
			r.Left += n
			r.Broken = append(r.Broken, fmt.Sprintf("%s: %d entries are left", t.name, n))
		}
		if !t.counts {
			continue
		}
		r.Trials++
		if t.lost {
			r.Lost++
			if !t.nextAt.IsZero() && !b.f.Untold && !b.f.Outside && !excused[t.name] {
				r.Margins = append(r.Margins, t.nextAt.Sub(t.toldAt))
			}
		}
	}
	r.Overlaps, r.Excused = len(overlaps), len(excused)
	return r
}

// judgeRegister is the second opinion.
func (b *batch) judgeRegister(t *trial, r *Result, overlaps, excused map[string]bool) {
	log := t.log.Entries()
	err := register.Check(log)
	if err == nil {
		return
	}
	if fence := register.CheckFence(log); fence != nil {
		r.Other++
		err = fmt.Errorf("the tokens do not order what holders wrote: %w", fence)
	} else if b.f.Outside || b.f.MayEnd != "" {
		excused[t.name] = true
		return
	} else {
		overlaps[t.name] = true
	}
	r.Broken = append(r.Broken, fmt.Sprintf("%s: %v", t.name, err))
}
