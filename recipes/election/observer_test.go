package election_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/recipes/election"
)

// observer is an Observe under way.
type observer struct {
	w    *world
	mu   sync.Mutex
	seen []election.Observation
	err  error
	over chan struct{}
}

// observe starts to observe through a client and returns when it waits.
func (c *client) observe(ctx context.Context) *observer {
	o := &observer{w: c.w, over: make(chan struct{})}
	go func() {
		defer close(o.over)
		for seen, err := range c.election().Observe(ctx) {
			o.mu.Lock()
			if o.err != nil {
				o.w.Errorf("shown %v, %v after the error %v", seen, err, o.err)
			}
			if o.err = err; err == nil {
				o.seen = append(o.seen, seen)
			}
			o.mu.Unlock()
		}
	}()
	synctest.Wait()
	return o
}

// patience is how long a change takes to be shown where the store has no watch:
// somewhat more than the pause between two lists. With a watch it takes none.
func (w *world) patience() {
	if w.Plain {
		time.Sleep(3 * time.Second)
	}
	synctest.Wait()
}

// shows wants the observer to have been shown what is in words: values, and "-"
// for a vacancy.
func (o *observer) shows(want string) {
	o.w.Helper()
	o.w.patience()
	if got := o.words(); got != want {
		o.w.Errorf("shown: %s; want %s", got, want)
	}
}

func (o *observer) words() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var words []string
	for _, s := range o.seen {
		if s.Vacant {
			words = append(words, "-")
		} else {
			words = append(words, string(s.Leader.Value))
		}
	}
	return strings.Join(words, " ")
}

// ended wants the sequence to have ended with an error that Is want.
func (o *observer) ended(want error) {
	o.w.Helper()
	synctest.Wait()
	select {
	case <-o.over:
		o.w.Is(o.err, want)
	default:
		o.w.Fatalf("Observe goes on; want it ended with %v", want)
	}
}

// crowd is 50 observers, of which some share a client.
type crowd struct {
	w       *world
	all     []*observer
	clients []*client
	cancel  context.CancelFunc
}

func (w *world) crowd() *crowd {
	ctx, cancel := context.WithCancel(w.Ctx)
	c := &crowd{w: w, cancel: cancel}
	for range 10 {
		client := w.client()
		c.clients = append(c.clients, client)
		for range 5 {
			c.all = append(c.all, client.observe(ctx))
		}
	}
	return c
}

// agree ends the observing, and wants everybody to have been shown a story that
// is possible and ends with the same last words.
func (c *crowd) agree(last string) {
	c.w.Helper()
	c.w.patience()
	c.cancel()
	for i, o := range c.all {
		o.ended(context.Canceled)
		if err := o.plausible(); err != nil {
			c.w.Errorf("observer %d: %v: %s", i, err, o.words())
		}
		if words := o.words(); !strings.HasSuffix(" "+words, " "+last) {
			c.w.Errorf("observer %d was shown: %s; want it to end with %s", i, words, last)
		}
	}
}

func (o *observer) plausible() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return plausible(o.seen)
}

// plausible checks what holds for whatever an observer is shown.
func plausible(seen []election.Observation) error {
	var newest uint64 // token
	for i, s := range seen {
		if s.Vacant {
			if i > 0 && seen[i-1].Vacant {
				return fmt.Errorf("observation %d is a vacancy after a vacancy", i)
			}
			if s.Leader.Token != 0 || s.Leader.Value != nil {
				return fmt.Errorf("observation %d is a vacancy with a leader", i)
			}
			continue
		}
		switch token := s.Leader.Token; {
		case token == 0 || s.Leader.Key == "" || s.Leader.Session == "" || s.Leader.Owner.PID == 0:
			return fmt.Errorf("observation %d does not say who leads", i)
		case token < newest:
			return fmt.Errorf("observation %d is of an older leader", i)
		case i > 0 && !seen[i-1].Vacant && token != newest:
			return fmt.Errorf("observation %d is of another leader, without a vacancy before it", i)
		case i > 0 && seen[i-1].Vacant && token == newest:
			return fmt.Errorf("observation %d brings back a leader that was gone", i)
		case i > 0 && !seen[i-1].Vacant && bytes.Equal(s.Leader.Value, seen[i-1].Leader.Value):
			return fmt.Errorf("observation %d shows nothing new", i)
		default:
			newest = token
		}
	}
	return nil
}
