package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord"
)

// timeline prints what happens, and watches over those who lead. It can do so
// because in the demonstration the replicas are not the processes that they stand
// for.
type timeline struct {
	out   io.Writer
	start time.Time

	mu       sync.Mutex
	last     *coord.Hold // the latest leadership
	leader   string      // whose it is
	terms    int
	fallen   int // terms with a token no higher than the one before
	overlaps int // terms that began while the one before still stood
}

// say prints a line of the story.
func (t *timeline) say(who, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.print(who, format, args...)
}

func (t *timeline) print(who, format string, args ...any) {
	fmt.Fprintf(t.out, "%8.3fs  %-10s %s\n", time.Since(t.start).Seconds(), who, fmt.Sprintf(format, args...))
}

// elected tells of an election.
func (t *timeline) elected(who string, hold *coord.Hold) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last != nil && hold.Token() <= t.last.Token() {
		t.fallen++
	}
	if t.last != nil && t.last.Err() == nil {
		t.overlaps++
	}
	t.terms++
	t.last, t.leader = hold, who
	t.print(who, "leads, token %d", hold.Token())
}

// current returns who was elected last, and the leadership.
func (t *timeline) current() (string, *coord.Hold) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.leader, t.last
}
