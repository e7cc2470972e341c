package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
)

// electionObserverRules are the promises of the election to those who follow.
func electionObserverRules(open electionOf) []Rule {
	return []Rule{
		{
			ID:   "K7",
			Text: "Observers are shown every change that lasts, a vacancy between two leaders, and never an older leader after a newer one.",
			Cases: []Case{
				{Name: "leaders resign", Check: open.check(func(t poll) { observersFollow(t, func(l subject.Leadership) { t.resign(l) }) })},
				{Name: "leaders' sessions end", Needs: NeedExpire, Check: open.check(func(t poll) {
					observersFollow(t, func(l subject.Leadership) { t.expire(l.Session().Driver()) })
				})},
				{Name: "leaders are removed", Needs: NeedRemoveNode, Check: open.check(func(t poll) {
					observersFollow(t, func(subject.Leadership) { t.removeNode(t.Nodes(t.dir())[0]) })
				})},
				{Name: "the same leader again", Check: open.check(sameLeaderAgain)},
				{Name: "in quick succession", Check: open.check(observersInAHurry)},
			},
		},
		{
			ID:   "K8",
			Text: "Observing survives broken connections, compacted history and a removed directory.",
			Cases: []Case{
				{Name: "connections reset", Needs: NeedLink, Check: open.check(func(t poll) {
					observersSurvive(t, func(l Link, missed func()) { missed(); l.DropConnections() })
				})},
				{Name: "cut off", Needs: NeedLink, Check: open.check(func(t poll) {
					observersSurvive(t, func(l Link, missed func()) { l.Cut(); missed(); t.heal(l) })
				})},
				{Name: "cut off while history is compacted", Needs: NeedLink | NeedCompact, Check: open.check(func(t poll) {
					observersSurvive(t, func(l Link, missed func()) { l.Cut(); missed(); t.compact(); t.heal(l) })
				})},
				{Name: "directory removed", Needs: NeedLink | NeedRemoveDir, Check: open.check(func(t poll) {
					observersSurvive(t, func(_ Link, missed func()) { missed(); t.removeDir(t.dir()) })
				})},
			},
		},
		{
			ID:    "K9",
			Text:  "Observing ends with the error that says why, and leaves nothing.",
			Cases: []Case{{Name: "ctx ended, client closed, loop left", Check: open.check(observingEnds)}},
		},
	}
}

// follower is an Observe under way.
type follower struct {
	mu   sync.Mutex
	seen []election.Observation
	err  error
	over <-chan struct{}
	busy <-chan struct{} // nil, or what its consumer waits for when it was shown something first
}

func (t poll) follow(ctx context.Context, c *coord.Client) *follower {
	o := &follower{}
	t.observes(ctx, o, c)
	return o
}

func (t poll) observes(ctx context.Context, o *follower, c *coord.Client) {
	o.over = t.Go(func() {
		for one, err := range t.open(c, name).Observe(ctx) {
			o.mu.Lock()
			if o.err = err; err == nil {
				o.seen = append(o.seen, one)
			}
			o.mu.Unlock()
			if o.busy != nil {
				select { // if both are ready it is all the same
				case <-o.busy:
				case <-t.ctx.Done():
				}
			}
		}
	})
}

// followers are as many as the recipes' promises are made for: 50, on ten
// clients.
func (t poll) followers() (all []*follower) {
	for range 10 {
		c := t.Client()
		for range 5 {
			all = append(all, t.follow(t.ctx, c))
		}
	}
	return all
}

// shown waits until every observer was last shown what is in words, a value or
// "-" for a vacancy.
func (t poll) shown(all []*follower, last string) {
	t.Eventually(t.patience()+t.h.Expiry, func() error {
		for i, o := range all {
			if words := o.words(); len(words) == 0 || words[len(words)-1] != last {
				return fmt.Errorf("observer %d was shown %s; want %s", i, strings.Join(words, " "), last)
			}
		}
		return nil
	})
}

func (o *follower) words() (words []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.seen {
		if s.Vacant {
			words = append(words, "-")
		} else {
			words = append(words, string(s.Leader.Value))
		}
	}
	if o.err != nil {
		words = append(words, "the error "+errorOf(o.err))
	}
	return words
}

// possible checks what holds for whatever an observer is shown.
func (o *follower) possible() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var newest uint64
	for i, s := range o.seen {
		after := i > 0 && o.seen[i-1].Vacant
		switch {
		case s.Vacant && after:
			return fmt.Errorf("observation %d is a vacancy after a vacancy", i)
		case s.Vacant:
		case s.Leader.Token < newest:
			return fmt.Errorf("observation %d shows the leader with token %d after %d", i, s.Leader.Token, newest)
		case i > 0 && !after && s.Leader.Token != newest:
			return fmt.Errorf("observation %d shows another leader, and no vacancy was shown before", i)
		default:
			newest = s.Leader.Token
		}
	}
	return nil
}

func (t poll) allPossible(all []*follower) {
	for i, o := range all {
		if err := o.possible(); err != nil {
			t.Fatalf("observer %d: %v: %s", i, err, strings.Join(o.words(), " "))
		}
	}
}

// observersFollow changes one thing after the other, each when the one before was
// seen: then nothing may be left out.
func observersFollow(t poll, end func(subject.Leadership)) {
	all := t.followers()
	t.shown(all, "-")
	want := []string{"-"}
	show := func(what string) {
		t.shown(all, what)
		want = append(want, what)
	}
	a, b := t.Client(), t.Client()
	l := t.elect(a, "a0")
	show("a0")
	next := t.standing(t.ctx, b, "b0", 2)
	t.proclaim(l, "a1")
	show("a1")
	end(l)
	l = t.elected(next, "the next in line")
	want = append(want, "-")
	show("b0")
	end(l)
	show("-")
	l = t.elect(t.Client(), "c0")
	show("c0")
	for i, o := range all {
		if got := o.words(); !slices.Equal(got, want) {
			t.Fatalf("observer %d was shown %s; want %s", i, strings.Join(got, " "), strings.Join(want, " "))
		}
	}
	t.allPossible(all)
	t.resign(l)
}

func observersInAHurry(t poll) {
	all := t.followers()
	clients := []*coord.Client{t.Client(), t.Client(), t.Client()}
	for i := range 10 {
		l := t.elect(clients[i%3], fmt.Sprint(i))
		t.proclaim(l, fmt.Sprint(i, "a"))
		t.proclaim(l, fmt.Sprint(i, "b"))
		if i < 9 {
			t.resign(l)
		}
	}
	t.shown(all, "9b")
	t.allPossible(all)
}

// observersSurvive breaks what lies between an observer and the store. missed is
// what goes on meanwhile.
func observersSurvive(t poll, fault func(l Link, missed func())) {
	a, b := t.Client(), t.Client()
	c, link := t.ClientOverLink()
	all := []*follower{t.follow(t.ctx, c), t.follow(t.ctx, c)}
	for round := range 3 {
		l := t.elect(a, fmt.Sprint("a", round))
		t.shown(all, fmt.Sprint("a", round))
		fault(link, func() {
			next := t.standing(t.ctx, b, "b", 2)
			t.resign(l)
			l = t.elected(next, "the next in line")
			t.proclaim(l, fmt.Sprint("b", round))
		})
		_ = l.Release(t.ctx) // unless it was removed
		t.shown(all, "-")
		t.allPossible(all)
	}
}

// observesAnew ranges over what Observe returned again and again. Each loop begins with the
// leader, and leaves no watch, also if it is left by a panic.
func (t poll) observesAnew() {
	var n wakes
	all := t.open(t.counted(&n), name).Observe(t.ctx)
	loop := func(panics bool) {
		defer func() {
			if panics && recover() == nil {
				t.Fatalf("a loop over Observe has swallowed a panic")
			}
		}()
		for one, err := range all {
			if err != nil || string(one.Leader.Value) != "v" {
				t.Fatalf("Observe shows %+v, %s first", one, errorOf(err))
			}
			if panics {
				panic(errOnPurpose)
			}
			break
		}
	}
	loop(false)
	loop(false)
	loop(true)
	t.Eventually(t.patience(), func() error {
		if left := n.following.Load(); left > 0 {
			return fmt.Errorf("%d watches go on when all loops over Observe have been left", left)
		}
		return nil
	})
}

func observingEnds(t poll) {
	l := t.elect(t.Client(), "v")
	c := t.Client()
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	first, second := t.follow(ctx, c), t.follow(t.ctx, c)
	t.shown([]*follower{first, second}, "v")
	cancel()
	t.Trial.join("Observe", first.over)
	if !errors.Is(first.err, context.Canceled) {
		t.Fatalf("Observe ended with %s; want its ctx's error", errorOf(first.err))
	}
	t.observesAnew()
	if err := c.Close(t.ctx); err != nil {
		t.Fatalf("Close: %v", err)
	}
	t.Trial.join("Observe", second.over)
	if !errors.Is(second.err, coord.ErrClosed) {
		t.Fatalf("Observe ended with %s; want ErrClosed", errorOf(second.err))
	}
	t.resign(l)
}
