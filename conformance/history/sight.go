package history

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// Sight is what one onlooker is shown of an object's line. Its methods are
// called by one goroutine, but for Shown. What it is shown is not in the log,
// unless it is wrong.
type Sight struct {
	onlooker
	must  []*Op           // holders when it began to look, whose entries it has to be shown
	shown int             // how many states since then
	last  []driver.Node   // the latest state
	there map[uint64]bool // the tokens in it
	high  uint64          // the highest token seen
}

// onlooker watches an object.
type onlooker struct {
	h    *History
	who  string
	of   string // a client's name
	name string
}

func (h *History) onlooker(who, name string) onlooker {
	return onlooker{h, who, clientOf(who), name}
}

// Onlooker makes the sight of somebody, named as in Call.
func (h *History) Onlooker(who, object string) *Sight {
	s := &Sight{onlooker: h.onlooker(who, object)}
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.object(object)
	o.watched = append(o.watched, s)
	return s
}

// misses says what of a hold that has lasted the onlooker is not shown.
func (s *Sight) misses(op *Op) string {
	if s.shown > 0 && !s.there[op.token] && !op.traded {
		return fmt.Sprintf("its entry, but %s", show(s.last))
	}
	return ""
}

// Begin records that it is about to look, or to look anew.
func (s *Sight) Begin() {
	h := s.h
	h.mu.Lock()
	defer h.mu.Unlock()
	s.shown, s.must = 0, nil
	o := h.object(s.name)
	for op := range o.holds {
		if o.counts(op) && !op.traded {
			s.must = append(s.must, op)
		}
	}
}

// Saw records a state of the line and judges it: it is in order, it is not older
// than one shown before, and the first is not older than the look.
func (s *Sight) Saw(nodes []driver.Node) {
	h := s.h
	h.mu.Lock()
	defer h.mu.Unlock()
	bad := func(format string, args ...any) {
		h.breach(Observation, s.name, "%s is shown %s: %s", s.who, show(nodes), fmt.Sprintf(format, args...))
	}
	high := s.high
	there := make(map[uint64]bool, len(nodes))
	for i, n := range nodes {
		there[n.Token] = true
		if i > 0 && n.Seq <= nodes[i-1].Seq {
			bad("it is not in order")
		}
		if n.Token <= s.high && !s.there[n.Token] {
			bad("%s was not there any more when that was shown last, or not there yet when later ones were", n.Key)
		}
		high = max(high, n.Token)
	}
	o := h.object(s.name)
	for _, op := range s.must {
		if _, held := o.holds[op]; held && s.shown == 0 && !there[op.token] && !op.traded && o.counts(op) {
			bad("%s, which held it before and still does, with token %d, is not there", op.who, op.token)
		}
	}
	s.high, s.last, s.there, s.must = high, nodes, there, nil
	s.shown++
}

func show(nodes []driver.Node) string {
	var all []string
	for _, n := range nodes {
		all = append(all, fmt.Sprintf("%s (%d)", n.Key, n.Token))
	}
	return fmt.Sprintf("%v", all)
}

// Shown says what the onlooker was shown last, and whether that was since it has
// begun.
func (s *Sight) Shown() (nodes []driver.Node, any bool) {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	return s.last, s.shown > 0
}

// watching is an onlooker as what it watches knows it.
type watching interface {
	misses(op *Op) string
	client() string
	is(l *onlooker) bool
}

func (l *onlooker) client() string          { return l.of }
func (l *onlooker) is(other *onlooker) bool { return l == other }

// judgeShown judges what onlookers are shown of a hold that is about to end, if
// it has lasted since a time: what lasts is always shown, while the way to the
// store is open, and at the latest when a listing that is made now and then shows
// it.
func (o *object) judgeShown(op *Op, since time.Duration) {
	h := o.h
	now := time.Since(h.start)
	if !o.counts(op) || now-since < 2*h.o.TTL+h.o.Late {
		return
	}
	for _, w := range o.watched {
		if what := w.misses(op); what != "" && h.troubled(w.client(), since-2*h.o.TTL, now) == 0 {
			h.breach(Observation, o.name, "%s has held %s with token %d for %v, and %s is not shown %s", op.who, o.name, op.token, now-op.grantedAt, w, what)
		}
	}
}

// Left records that the onlooker looks no more.
func (l *onlooker) Left() {
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	o := l.h.object(l.name)
	o.watched = slices.DeleteFunc(o.watched, func(w watching) bool { return w.is(l) })
}

// String names the onlooker.
func (l *onlooker) String() string { return l.who }

// Ended records that the look has ended with an error, which it may when ctx,
// whose error is given, has ended or the client was closed.
func (l *onlooker) Ended(err, ended error) {
	h := l.h
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.killed[l.of]:
	case ended != nil && errors.Is(err, ended):
	case h.closed[l.of] && errors.Is(err, coord.ErrClosed):
	default:
		h.breach(Observation, l.name, "%s is shown nothing more of %s: %v", l.who, l.name, err)
	}
}
