package recipetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/drivers/mem"
)

// Model is what a recipe does in a random schedule, and how it is judged.
type Model[H Hold] interface {
	// Move makes a move of the recipe's own for client k, the i-th of the
	// schedule, if p, of 100, falls to one, and reports whether it did.
	Move(i, k, p int) bool
	// Granted judges a hold that was just granted and is in Held already. The
	// schedule is locked.
	Granted(number, k int, h H)
	// Excuses reports whether a call may fail with an error of its own recipe.
	Excuses(err error) bool
	// Release releases a hold.
	Release(ctx context.Context, h H) error
}

// Schedule is a random schedule of everything that can be done to a recipe and
// can go wrong. Its lock guards Held, Log and Wrong.
type Schedule[H Hold] struct {
	*World
	Rand    *rand.Rand
	Clients []*Process

	sync.Mutex
	Held []H

	model   Model[H]
	began   time.Time
	waiting []*waiter
	doomed  map[uint64]bool // tokens of entries that somebody removes
	ended   map[string]bool // sessions that the store ends
	history strings.Builder
	failed  bool
}

// waiter is a call under way.
type waiter struct {
	number int
	cancel context.CancelFunc
}

// RandomSchedules runs random schedules in subtests whose names hold their
// seeds; COORDKIT_SOAK takes new ones. model makes what judges one.
func RandomSchedules[H Hold](t *testing.T, dir string, model func(*Schedule[H]) Model[H]) {
	first, count := uint64(1), uint64(60)
	if os.Getenv("COORDKIT_SOAK") != "" {
		first, count = rand.Uint64()>>1, 2000
	}
	for name, plain := range map[string]bool{"fast": false, "plain": true} {
		for seed := first; seed < first+count; seed++ {
			t.Run(fmt.Sprintf("%s/seed %d", name, seed), func(t *testing.T) {
				BubbleOver(t, dir, plain, func(w *World) {
					s := &Schedule[H]{World: w, Rand: rand.New(rand.NewPCG(seed, 0)), began: time.Now(),
						doomed: make(map[uint64]bool), ended: make(map[string]bool)}
					for range 4 {
						s.Clients = append(s.Clients, w.Process())
					}
					s.model = model(s)
					s.run()
				})
			})
		}
	}
}

// Log adds to the history that a violation is reported with.
func (s *Schedule[H]) Log(format string, args ...any) {
	fmt.Fprintf(&s.history, "%8v  %s\n", time.Since(s.began).Round(time.Millisecond), fmt.Sprintf(format, args...))
}

// Wrong reports the first violation with what led to it.
func (s *Schedule[H]) Wrong(format string, args ...any) {
	if !s.failed {
		s.failed = true
		s.Errorf("%s; the history:\n%s", fmt.Sprintf(format, args...), s.history.String())
	}
}

// Lives reports whether a hold is one, as far as its owner can know.
func (s *Schedule[H]) Lives(h H) bool {
	return h.Err() == nil && !s.doomed[h.Token()] && !s.ended[h.Session().ID()]
}

// CallCtx returns a ctx for a call: some have a deadline.
func (s *Schedule[H]) CallCtx() (context.Context, context.CancelFunc) {
	if s.Rand.IntN(3) == 0 {
		return context.WithTimeout(s.Ctx, time.Duration(s.Rand.IntN(5000))*time.Millisecond)
	}
	return context.WithCancel(s.Ctx)
}

// Begin makes a call on behalf of client k, and judges what comes of it. cancel
// gives it up.
func (s *Schedule[H]) Begin(number, k int, what string, cancel context.CancelFunc, call func() (H, error)) {
	me := &waiter{number, cancel}
	s.Lock()
	s.Log("%d: %s %d", k, what, number)
	s.waiting = append(s.waiting, me)
	s.Unlock()
	go func() {
		defer cancel()
		h, err := call()
		s.Lock()
		defer s.Unlock()
		s.waiting = slices.DeleteFunc(s.waiting, func(w *waiter) bool { return w == me })
		if err != nil {
			s.Log("%d: %d failed: %v", k, number, err)
			s.excused(err)
			return
		}
		s.Grant(number, k, h)
	}()
}

// excused wants a call to have failed for a reason that there was.
func (s *Schedule[H]) excused(err error) {
	for _, e := range []error{context.Canceled, context.DeadlineExceeded, coord.ErrSessionLost, coord.ErrRemoved,
		coord.ErrBusy, coord.ErrUnavailable, coord.ErrUncertain} {
		if errors.Is(err, e) {
			return
		}
	}
	if !s.model.Excuses(err) {
		s.Wrong("there was no reason for %v", err)
	}
}

// Grant takes note of a hold and judges it. The schedule is locked.
func (s *Schedule[H]) Grant(number, k int, h H) {
	s.Log("%d: %d granted with token %d", k, number, h.Token())
	s.Held = append(s.Held, h)
	s.model.Granted(number, k, h)
}

func (s *Schedule[H]) run() {
	for i := range 120 {
		s.step(i)
		if s.Rand.IntN(3) > 0 {
			synctest.Wait()
		}
	}
	for _, c := range s.Clients {
		s.OK(c.Link().Heal())
	}
	for range 400 { // everybody is served, once all is well
		for s.ReleaseOne() {
		}
		time.Sleep(time.Second)
		s.Lock()
		left := len(s.waiting)
		s.Unlock()
		if left == 0 {
			break
		}
	}
	for s.ReleaseOne() {
	}
	time.Sleep(2 * TTL) // sessions that were opened and whose client does not know
	s.Lock()
	defer s.Unlock()
	if len(s.waiting) > 0 {
		s.Wrong("%d are still waiting; the line: %v", len(s.waiting), s.Line())
		for _, w := range s.waiting {
			w.cancel()
		}
	}
}

func (s *Schedule[H]) step(i int) {
	k, p := s.Rand.IntN(len(s.Clients)), s.Rand.IntN(100)
	link := s.Clients[k].Link()
	switch {
	case s.model.Move(i, k, p):
	case p < 74:
		s.giveUp()
	case p < 77:
		s.remove()
	case p < 78:
		s.expire(k)
	case p < 81:
		op := []mem.Op{mem.OpCreate, mem.OpDelete, mem.OpList, mem.OpWait, mem.OpAbandon}[s.Rand.IntN(5)]
		if s.Rand.IntN(2) == 0 {
			s.note("%d: next reply to %s is lost", k, op)
			link.DropNextReply(op)
		} else {
			s.note("%d: next request to %s is lost", k, op)
			link.LoseNextRequest(op)
		}
	case p < 83:
		d := mem.Direction(1 + s.Rand.IntN(3))
		s.note("%d: freeze %v", k, d)
		link.Freeze(d)
	case p < 84:
		s.note("%d: cut", k)
		link.Cut()
	case p < 85:
		s.note("%d: reset", k)
		link.DropConnections()
	case p < 89:
		s.note("%d: heal", k)
		_ = link.Heal()
	default:
		d := time.Duration(s.Rand.IntN(1500)) * time.Millisecond
		if s.Rand.IntN(10) == 0 {
			d = TTL
		}
		time.Sleep(d)
	}
}

func (s *Schedule[H]) note(format string, args ...any) {
	s.Lock()
	defer s.Unlock()
	s.Log(format, args...)
}

// ReleaseOne releases something that is held, and reports whether there was.
func (s *Schedule[H]) ReleaseOne() bool {
	s.Lock()
	defer s.Unlock()
	if len(s.Held) == 0 {
		return false
	}
	i := s.Rand.IntN(len(s.Held))
	h := s.Held[i]
	s.Held = slices.Delete(s.Held, i, i+1)
	s.Log("release the one with token %d", h.Token())
	go func() {
		ctx, cancel := context.WithTimeout(s.Ctx, time.Second)
		defer cancel()
		_ = s.model.Release(ctx, h) // it goes on if it is not done
	}()
	return true
}

// giveUp cancels a call.
func (s *Schedule[H]) giveUp() {
	s.Lock()
	defer s.Unlock()
	if n := len(s.waiting); n > 0 {
		w := s.waiting[s.Rand.IntN(n)]
		s.Log("cancel %d", w.number)
		w.cancel()
	}
}

// remove removes a node as an operator would. Its holds have the token of its
// place, which in this store is its Seq.
func (s *Schedule[H]) remove() {
	synctest.Wait() // whoever was granted is in the model
	line := s.Line()
	if len(line) == 0 {
		return
	}
	n := line[s.Rand.IntN(len(line))]
	s.Lock()
	s.Log("remove %s with token %d", n.ID, n.Token)
	s.doomed[queue.InPlaceOf(n)] = true
	s.Unlock()
	s.Remove(n.Key)
}

// expire has the store end the session of a client that is in line.
func (s *Schedule[H]) expire(k int) {
	synctest.Wait()
	line := s.Line()
	i := slices.IndexFunc(line, func(n driver.Node) bool { return s.Clients[k].owns(n) })
	if i < 0 {
		return
	}
	s.Lock()
	s.Log("%d: the store ends session %s", k, line[i].Session)
	s.ended[line[i].Session] = true
	s.Unlock()
	s.Store.Expire(line[i].Session)
}
