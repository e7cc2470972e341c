package main

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord"
)

// timeline prints what happens and judges it. It can do so because the workers
// are not the processes that they stand for.
type timeline struct {
	out   io.Writer
	start time.Time

	mu       sync.Mutex
	last     *coord.Hold   // the latest grant
	next     chan struct{} // closed at the next one
	grants   int
	fallen   int    // grants with a token no higher than the one before
	overlaps int    // grants while the one before was still held
	loser    string // who has lost the lock and stopped, until another has it
	since    time.Time
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

// granted tells of a grant, and returns its number, from 1, and a channel that
// the next grant closes.
func (t *timeline) granted(who string, hold *coord.Hold) (number int, next <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last != nil && hold.Token() <= t.last.Token() {
		t.fallen++
	}
	if t.last != nil && t.last.Err() == nil {
		t.overlaps++
	}
	after := ""
	if t.loser != "" {
		after = fmt.Sprintf(", %.2fs after %s had stopped", time.Since(t.since).Seconds(), t.loser)
	}
	t.print(who, "holds the lock, token %d%s", hold.Token(), after)
	close(t.next)
	t.last, t.next, t.loser = hold, make(chan struct{}), ""
	t.grants++
	return t.grants, t.next
}

// stopped tells that a worker has heard of its loss and stopped.
func (t *timeline) stopped(who string, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.loser, t.since = who, time.Now()
	t.print(who, "lost the lock and stopped: %v", why)
}

// verdict sums up. It is an error if a promise was broken.
func (t *timeline) verdict(l *ledger) error {
	final, err := l.load(t.last.Token())
	if err != nil {
		return err
	}
	lost := l.accepted - final.Count
	yes := map[bool]string{true: "yes", false: "NO"}
	fmt.Fprintf(t.out, "\n%d grants, tokens strictly rising: %s, nobody overlapped: %s\n",
		t.grants, yes[t.fallen == 0], yes[t.overlaps == 0])
	fmt.Fprintf(t.out, "%d writes accepted, %d refused, no update lost: %s\nthe file: %+v\n",
		l.accepted, l.refused, yes[lost == 0], final)
	if t.fallen+t.overlaps+lost != 0 {
		return errors.New("a promise was broken")
	}
	return nil
}
