package conformance

import (
	"context"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// Some promises are made by every recipe: they are checked once, with two who
// want what only one of them can have.

// contest is two who are in each other's way.
type contest struct {
	name          string // "a writer, then a reader"; or "", if the recipe has no other
	kind          string // the recipe's
	first, second func(c *coord.Client, name string) subject.Want
}

// duel is a contest in a trial.
type duel struct {
	arena
	contest
}

// one and other are what the first and the second want of the trial's line.
func (d duel) one(c *coord.Client) subject.Want   { return d.first(c, name) }
func (d duel) other(c *coord.Client) subject.Want { return d.second(c, name) }

// contests are those of a recipe.
type contests []contest

// cases makes a case of each contest.
func (cs contests) cases(what string, needs Need, check func(duel)) (cases []Case) {
	for _, c := range cs {
		cases = append(cases, Case{Name: caseName(c.name, what), Needs: needs, Check: func(t *Trial) {
			check(duel{arena{t, c.kind}, c})
		}})
	}
	return cases
}

// frozen makes a case of each contest and direction.
func (cs contests) frozen(check func(duel, func(Link))) (cases []Case) {
	for _, c := range cs {
		for _, d := range perDirection(func(t *Trial, fault func(Link)) { check(duel{arena{t, c.kind}, c}, fault) }) {
			d.Name = caseName(c.name, d.Name)
			cases = append(cases, d)
		}
	}
	return cases
}

func caseName(contest, what string) string {
	if contest == "" {
		return what
	}
	return contest + ": " + what
}

func contestGiveUp(d duel) {
	a, b, c := d.Client(), d.Client(), d.Client()
	held := d.take(d.one(a))
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	bored := d.join(ctx, "the waiter that gave up", d.other(b), 2)
	patient := d.join(d.ctx, "the waiter behind the one that gave up", d.other(c), 3)
	cancel()
	d.fails(bored, context.Canceled)
	d.entries(2)
	d.waits(patient)
	d.release(held)
	d.release(d.wins(patient))
	d.empty()
}
