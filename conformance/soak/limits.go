package soak

import (
	"sync"

	"github.com/coordkit/coordkit/conformance/history"
)

// limits is what is known of the limits that programs set. Which of them is in force
// is certain only if nothing fails, as a change is gone for a while with the session of
// who keeps it, and if one change follows the other.
type limits struct {
	mu   sync.Mutex
	open map[string]int  // changes under way
	lost map[string]bool // nobody knows any more, until the round is over
}

// uncertain says that any limit may be in force.
func (l *limits) uncertain(h *history.History, recipe Recipe) {
	for _, n := range recipe.Limits {
		h.MayBe(recipe.Name, n)
	}
}

// begin begins a round.
func (l *limits) begin(h *history.History, recipes []Recipe) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open, l.lost = make(map[string]int), make(map[string]bool)
	for _, recipe := range recipes {
		if len(recipe.Limits) > 1 {
			l.uncertain(h, recipe)
		}
	}
}

// changing records that a limit is about to be set, and done that it was, or that it
// is not known to be. calm says that nothing fails in the round.
func (l *limits) changing(h *history.History, recipe Recipe, limit int, calm bool) (done func(error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := recipe.Name
	h.MayBe(name, limit)
	if l.open[name]++; l.open[name] > 1 || !calm {
		l.lost[name] = true
	}
	return func(err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.open[name]--; err != nil {
			l.lost[name] = true
		}
		if l.lost[name] {
			l.uncertain(h, recipe)
			return
		}
		h.Limit(name, limit)
	}
}
