package soak

import (
	"fmt"
	"math/rand/v2"
)

// onlookers watch each line through each client, and as many follow each
// election. They share the client's watch.
const onlookers = 2

// look is what somebody is shown, as settle sees it.
type look struct {
	object string
	quiet  func() bool   // it is shown that the line is empty
	shown  func() string // what instead
}

// onlook has a client's onlookers watch for as long as it lives.
func (r *run) onlook(c *client) {
	for _, recipe := range r.o.Recipes {
		for j := range onlookers {
			who := fmt.Sprintf("%s.see%d", c.name, j)
			r.watch(c, recipe, who)
			if recipe.Follow != nil {
				r.follow(c, recipe, who)
			}
		}
	}
}

// watch ranges over the states of a line.
func (r *run) watch(c *client, recipe Recipe, who string) {
	s := r.history.Onlooker(who, recipe.Name)
	c.looks = append(c.looks, look{recipe.Name,
		func() bool {
			nodes, any := s.Shown()
			return any && len(recipe.contending(nodes)) == 0
		},
		func() string {
			nodes, any := s.Shown()
			return fmt.Sprintf("%s is shown %v (%t)", who, keys(nodes), any)
		}})
	stays := r.patient(c, who, recipe.Name)
	c.onlookers.Go(func() {
		defer s.Left()
		for c.life.Err() == nil {
			s.Begin()
			for nodes, err := range c.Watch(c.life, recipe.Dir) {
				if err != nil {
					s.Ended(err, c.life.Err())
					return
				}
				if s.Saw(nodes); !stays() {
					break
				}
			}
			if _, any := s.Shown(); !any {
				s.Ended(errNothing, nil)
				return
			}
		}
	})
}

// follow observes an election.
func (r *run) follow(c *client, recipe Recipe, who string) {
	f := r.history.Follower(who, recipe.Name)
	c.looks = append(c.looks, look{recipe.Name, f.Vacancy,
		func() string { return who + " is not shown that nobody leads" }})
	stays := r.patient(c, who+" follows", recipe.Name)
	c.onlookers.Go(func() {
		defer f.Left()
		for c.life.Err() == nil {
			f.Begin()
			if err := recipe.Follow(c.life, User{Client: c.Client}, func(token uint64, value string) bool {
				f.Saw(token, value)
				return stays()
			}); err != nil {
				f.Ended(err, c.life.Err())
				return
			}
		}
	})
}

// patient makes what an onlooker does after each thing that it was shown: now and
// then it pauses, so that much happens meanwhile, and now and then it goes, in
// order to begin anew. It reports whether it stays.
func (r *run) patient(c *client, who, object string) (stays func() bool) {
	rng := rand.New(rand.NewPCG(r.o.Seed, sequence(who+object, 0, 0)))
	return func() bool {
		if rng.IntN(8) == 0 {
			Pause(c.life, UpTo(rng, r.h.TTL/4))
		}
		return rng.IntN(16) > 0
	}
}
