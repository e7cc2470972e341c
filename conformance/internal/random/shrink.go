package random

import (
	"slices"

	"github.com/coordkit/coordkit/conformance/internal/model"
)

// Shrink makes a program that fails smaller, as long as it still fails: it leaves out
// waves and steps, and makes what is left simpler. It stops when nothing helps any
// more, or when there are no tries left.
func Shrink(p Program, tries int, fails func(Program) bool) Program {
	s := &shrinker{p: p, tries: tries, fails: fails}
	for before := -1; before != s.done && s.tries > 0; {
		before = s.done
		for size := max(1, len(s.p.Waves)/2); size > 0; size /= 2 {
			for at := len(s.p.Waves) - size; at >= 0; at -= size {
				s.try(s.p.without(at, min(at+size, len(s.p.Waves))))
			}
		}
		s.eachStep(func(w, i int) []Program { return []Program{s.p.leavingOut(w, i)} })
		s.eachStep(func(w, i int) []Program { return []Program{s.p.alone(w, i)} })
		s.eachStep(func(w, i int) (simpler []Program) {
			for _, step := range s.p.Waves[w][i].simpler() {
				simpler = append(simpler, s.p.with(w, i, step))
			}
			return simpler
		})
	}
	return s.p
}

type shrinker struct {
	p     Program
	tries int
	done  int // how often the program became smaller
	fails func(Program) bool
}

// try takes a smaller program if it fails.
func (s *shrinker) try(p Program) bool {
	if s.tries <= 0 || p.size() == 0 {
		return false
	}
	s.tries--
	if !s.fails(p) {
		return false
	}
	s.p = p
	s.done++
	return true
}

// eachStep tries what can be done about each step, the last first.
func (s *shrinker) eachStep(smaller func(w, i int) []Program) {
	for w := len(s.p.Waves) - 1; w >= 0; w-- {
		for i := len(s.p.Waves[min(w, len(s.p.Waves)-1)]) - 1; i >= 0; i-- {
			if w >= len(s.p.Waves) || i >= len(s.p.Waves[w]) {
				continue
			}
			for _, p := range smaller(w, i) {
				if p.Waves != nil && s.try(p) {
					break
				}
			}
		}
	}
}

// without leaves out waves.
func (p Program) without(from, to int) Program {
	p.Waves = slices.Concat(p.Waves[:from], p.Waves[to:])
	return p
}

// leavingOut leaves out a step, and its wave if there is no other in it.
func (p Program) leavingOut(w, i int) Program {
	if len(p.Waves[w]) == 1 {
		return p.without(w, w+1)
	}
	p.Waves = slices.Clone(p.Waves)
	p.Waves[w] = slices.Concat(p.Waves[w][:i], p.Waves[w][i+1:])
	return p
}

// alone lets a step run before the others of its wave. It returns a program without
// waves if it does so already.
func (p Program) alone(w, i int) Program {
	if len(p.Waves[w]) == 1 {
		return Program{}
	}
	rest := slices.Concat(p.Waves[w][:i], p.Waves[w][i+1:])
	p.Waves = slices.Concat(p.Waves[:w], [][]Step{{p.Waves[w][i]}, rest}, p.Waves[w+1:])
	return p
}

// with puts another step in the place of one.
func (p Program) with(w, i int, s Step) Program {
	p.Waves = slices.Clone(p.Waves)
	p.Waves[w] = slices.Clone(p.Waves[w])
	p.Waves[w][i] = s
	return p
}

// simpler returns what a step may be replaced by.
func (s Step) simpler() (all []Step) {
	add := func(change func(*Step)) {
		other := s
		change(&other)
		all = append(all, other)
	}
	if s.Data.Len > 1 {
		for _, n := range []int{0, 1, 4} {
			if n < s.Data.Len {
				add(func(o *Step) { o.Data.Len = n })
			}
		}
	}
	if s.After > 0 {
		add(func(o *Step) { o.After = 0 })
	}
	if s.As > 0 {
		add(func(o *Step) { o.As = 0 })
	}
	if s.Pause > 0 && (s.Op == model.Watch || s.Op == model.OpenSession) {
		add(func(o *Step) { o.Pause = 0 })
	}
	if s.Within != 0 && s.Op != model.Close {
		add(func(o *Step) { o.Within = 0 })
	}
	if s.Op == model.CreateList {
		add(func(o *Step) { o.Op = model.Create })
	}
	for i := range s.Of {
		if len(s.Of) > 1 {
			add(func(o *Step) { o.Of = slices.Concat(s.Of[:i], s.Of[i+1:]) })
		}
	}
	return all
}
