package conformance_test

import (
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/conformance/soak"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/internal/report"
)

// broken is a recipe with a mistake.
type broken struct {
	name, doc string
	limits    []int
	wants     []soak.Want
}

// turns is the rule of a sound mutex.
func turns(line []driver.Node, own int) queue.Verdict {
	if own == 0 {
		return queue.Verdict{}
	}
	return queue.Verdict{Blocked: true, Blocker: line[own-1], Last: own == 1, Exclusive: true}
}

// anybody lets everybody in.
func anybody([]driver.Node, int) queue.Verdict { return queue.Verdict{} }

const writer, reader = "w", "r" // kinds of entries

// Broken rules: who waits for whom.
func brokenRules() []broken {
	return []broken{
		{
			name: "nobody-waits", doc: "The line is joined and not looked at.",
			wants: mutexOf(anybody),
		},
		{
			name: "head-alone", doc: "Everybody waits for the head of the line, and takes its end for the grant.",
			wants: mutexOf(func(line []driver.Node, own int) queue.Verdict {
				if own == 0 {
					return queue.Verdict{}
				}
				return queue.Verdict{Blocked: true, Blocker: line[0], Last: true}
			}),
		},
		{
			name: "second-writer-forgotten", doc: "A reader waits for the first writer ahead of it, and takes its end for the grant. (Curator's watches the first too.)",
			wants: rwlockOf(func(line []driver.Node, own int) queue.Verdict {
				for _, n := range line[:own] {
					if queue.Kind(n) == writer {
						return queue.Verdict{Blocked: true, Blocker: n, Last: true}
					}
				}
				return queue.Verdict{}
			}),
		},
		{
			name: "readers-overtake", doc: "A reader waits for a writer that holds, and not for one that waits.",
			wants: rwlockOf(func(line []driver.Node, own int) queue.Verdict {
				if own > 0 && queue.Kind(line[0]) == writer {
					return queue.Verdict{Blocked: true, Blocker: line[0]}
				}
				return queue.Verdict{}
			}),
		},
		{
			name: "one-too-many", doc: "A semaphore admits one permit more than it has.", limits: []int{permits},
			wants: semaphoreOf(func(ahead, own int) bool { return ahead+own <= permits+1 }),
		},
		{
			name: "own-permits-forgotten", doc: "A semaphore looks whether there are permits left, and not how many are wanted.", limits: []int{permits},
			wants: semaphoreOf(func(ahead, _ int) bool { return ahead < permits }),
		},
		{
			name: "large-ones-ignored", doc: "Who wants one permit does not wait for one ahead who wants them all.", limits: []int{permits},
			wants: semaphoreOf(func(ahead, own int) bool { return ahead+own <= permits || own == 1 && ahead%permits < permits-1 }),
		},
	}
}

// Every recipe with a mistake is found out, on a sound driver.
func TestSoakFindsBrokenRecipes(t *testing.T) {
	var shown findings
	sound := func(h conformance.Harness) conformance.Harness { return h }
	t.Run("each", func(t *testing.T) {
		for _, b := range append(brokenRules(), brokenSteps()...) {
			t.Run(b.name, func(t *testing.T) {
				t.Parallel()
				n, v := soaked(t, attempts(), sound, func(o *soak.Options) { o.Recipes = []soak.Recipe{b.recipe()} })
				if v.Text == "" {
					t.Errorf("%d runs have not seen it: %s", n, b.doc)
				}
				shown.add(b.name, n, v)
			})
		}
	})
	// What stands here as sound is.
	bubble(t, func(t *testing.T) {
		fair := broken{name: "sound", wants: mutexOf(turns)}
		soak.Test(t, memHarness(time.Second), soak.Options{Duration: 5 * time.Minute, Exact: true, Recipes: []soak.Recipe{fair.recipe()}})
	})
	report.Show(t, "what users of broken recipes see", shown.String())
}

// rwlockOf makes a read-write lock whose readers have a rule of their own.
func rwlockOf(read queue.Rule) []soak.Want {
	rule := func(line []driver.Node, own int) queue.Verdict {
		if queue.Kind(line[own]) == writer {
			return turns(line, own)
		}
		return read(line, own)
	}
	return []soak.Want{
		wanted(history.Exclusive, 0, standing(rule, queue.Request{Kind: writer})),
		wanted(history.Shared, 0, standing(rule, queue.Request{Kind: reader})),
	}
}

// permits are those of a broken semaphore, of which one or all are wanted.
const permits = 3

// semaphoreOf makes a semaphore that admits by what is wanted ahead of an entry
// and by it.
func semaphoreOf(admits func(ahead, own int) bool) (wants []soak.Want) {
	kinds := map[string]int{"s": 1, "l": permits}
	rule := func(line []driver.Node, own int) queue.Verdict {
		ahead := 0
		for _, n := range line[:own] {
			ahead += kinds[queue.Kind(n)]
		}
		if own == 0 || admits(ahead, kinds[queue.Kind(line[own])]) {
			return queue.Verdict{}
		}
		return queue.Verdict{Blocked: true} // until something changes
	}
	for _, kind := range []string{"s", "l"} {
		wants = append(wants, wanted(history.Permits, kinds[kind], standing(rule, queue.Request{Kind: kind})))
	}
	return wants
}

// mutexOf makes a mutex of a rule.
func mutexOf(rule queue.Rule) []soak.Want {
	return []soak.Want{wanted(history.Exclusive, 0, standing(rule, queue.Request{}))}
}
