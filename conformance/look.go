package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// patience is how long the suite waits for what must happen and has no bound
// of its own: long enough for every store, and only a failing case waits it
// out.
func (t *Trial) patience() time.Duration { return max(10*time.Second, 2*t.h.TTL) }

// pause is the time between two looks at the store.
func (t *Trial) pause() { t.sleep(min(max(2*time.Millisecond, t.h.TTL/200), 20*time.Millisecond)) }

// sleep lets d pass, or less if the trial ends.
func (t *Trial) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select { // if both are ready it is all the same
	case <-t.ctx.Done():
	case <-timer.C:
	}
}

// Eventually looks again and again until look returns nil, and fails the trial
// with what it returned last if that takes longer than within.
func (t *Trial) Eventually(within time.Duration, look func() error) {
	start := time.Now()
	for {
		err := look()
		switch {
		case err == nil:
			return
		case t.ctx.Err() != nil:
			t.Fatalf("%v, until the case's time-out", err)
		case time.Since(start) > within+t.pulse.lag(start):
			t.Fatalf("%v, %v after it should be otherwise", err, time.Since(start).Round(time.Millisecond))
		}
		t.pause()
	}
}

// seldom leaves time between looks that are much work.
func (t *Trial) seldom(look func() error) func() error {
	return func() error {
		err := look()
		if err != nil {
			t.sleep(t.h.TTL / 4)
		}
		return err
	}
}

// comes is Eventually for what is another rule's matter if it does not come.
func (t *Trial) comes(within time.Duration, look func() error) bool {
	for start := time.Now(); look() != nil; t.pause() {
		if t.ctx.Err() != nil || time.Since(start) > within+t.pulse.lag(start) {
			return false
		}
	}
	return true
}

// Throughout looks again and again for d, and fails the trial as soon as look
// returns an error. It is for what must not happen late, of which no event
// tells that it did not happen.
func (t *Trial) Throughout(d time.Duration, look func() error) {
	for start := time.Now(); t.ctx.Err() == nil; t.pause() {
		if err := look(); err != nil {
			t.Fatalf("%v", err)
		}
		if time.Since(start) > d {
			return
		}
	}
}

// settles is for what must be so when the link is healed and stay so: it allows
// for a list that lags behind (L5) and watches out for what lands late.
func (t *Trial) settles(look func() error) {
	t.Eventually(t.lateness(), look)
	t.Throughout(t.lateness(), look)
}

// lateness is how long a trial watches out for a request that lands late, once
// the link is healed.
func (t *Trial) lateness() time.Duration { return t.h.TTL / 4 }

// present returns nil if the third client sees that very node.
func (t *Trial) present(n driver.Node) func() error {
	return func() error {
		if _, ok := find(t.Nodes(n.Dir), n); !ok {
			return fmt.Errorf("a third client does not see %s", show(n))
		}
		return nil
	}
}

// absent returns nil if the third client does not see that very node.
func (t *Trial) absent(n driver.Node) func() error {
	return func() error {
		if _, ok := find(t.Nodes(n.Dir), n); ok {
			return fmt.Errorf("a third client still sees %s", show(n))
		}
		return nil
	}
}

// Sees waits until the third client sees the node.
func (t *Trial) Sees(n driver.Node) { t.Eventually(t.patience(), t.present(n)) }

// mine is what the third client sees of a session's slot.
func (t *Trial) mine(s driver.Session, dir, id string) []driver.Node {
	return slot(t.Nodes(dir), s, id)
}

// slot picks the nodes of a session's slot.
func slot(nodes []driver.Node, s driver.Session, id string) (found []driver.Node) {
	for _, n := range nodes {
		if n.Session == s.ID() && n.ID == id {
			found = append(found, n)
		}
	}
	return found
}

// none returns nil if the third client sees no node of a session's slot.
func (t *Trial) none(s driver.Session, dir, id string) func() error {
	return func() error {
		if found := t.mine(s, dir, id); len(found) > 0 {
			return fmt.Errorf("a third client sees %s", show(found...))
		}
		return nil
	}
}

// only returns nil if the third client sees just that node in the slot (dir, id)
// of the session, where dir is the node's.
func (t *Trial) only(s driver.Session, id string, n driver.Node) func() error {
	return func() error {
		if found := t.mine(s, n.Dir, id); len(found) != 1 || !found[0].Same(n) {
			return fmt.Errorf("a third client sees %s where %s alone should be", show(found...), show(n))
		}
		return nil
	}
}

// find returns that very node of a list.
func find(nodes []driver.Node, n driver.Node) (driver.Node, bool) {
	for _, m := range nodes {
		if m.Same(n) {
			return m, true
		}
	}
	return driver.Node{}, false
}

// show prints nodes for a failure's message.
func show(nodes ...driver.Node) string {
	if len(nodes) == 0 {
		return "nothing"
	}
	text := ""
	for i, n := range nodes {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%q (id %s, session %s, seq %d, token %d, %d bytes)", n.Key, n.ID, n.Session, n.Seq, n.Token, len(n.Data))
	}
	return text
}

// ended reports whether a channel is closed.
func ended(done <-chan struct{}) bool {
	select { // not a wait: the default makes it a look
	case <-done:
		return true
	default:
		return false
	}
}

// within waits for a channel, for d and what the process is late, and reports
// whether it was closed.
func (t *Trial) within(d time.Duration, done <-chan struct{}) bool {
	for start := time.Now(); !ended(done); {
		left := d + t.pulse.lag(start) - time.Since(start)
		if left < 0 || t.ctx.Err() != nil {
			return false
		}
		timer := time.NewTimer(left + time.Millisecond)
		select { // whichever comes first, the loop looks at all of them
		case <-done:
		case <-timer.C:
		case <-t.ctx.Done():
		}
		timer.Stop()
	}
	return true
}

// briefly runs a call that is to be swallowed by a fault, and gives it up after
// an eighth of the TTL: enough for its request to be sent, too little to endanger the
// session. Where the ctx is to stay alive the driver gives the call up.
func (t *Trial) briefly(call func(ctx context.Context) error) error {
	if t.ctxAlive {
		return call(t.ctx)
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.h.TTL/8)
	defer cancel()
	return call(ctx)
}

// crowd does something n times, some at a time.
func (t *Trial) crowd(n int, do func(i int)) {
	const atOnce = 16
	var done []<-chan struct{}
	for first := range min(n, atOnce) {
		done = append(done, t.Go(func() {
			for i := first; i < n; i += atOnce {
				do(i)
			}
		}))
	}
	for _, d := range done {
		if !t.within(t.h.Timeout, d) { // so many calls may well take longer than one
			t.Fatalf("of %d calls, %d at a time, some do not return", n, atOnce)
		}
	}
	t.join("one of many calls", done...)
}

// timed is how long a call took, without what the process stood still meanwhile.
func (t *Trial) timed(call func()) time.Duration {
	start := time.Now()
	call()
	return time.Since(start) - t.pulse.lag(start)
}

// isPrompt wants a call that takes as long as it returns to take no longer than
// promptly. A store may stand still for reasons of its machine's, so the call is slow
// only if it is slow three times in a row.
func (t *Trial) isPrompt(what string, call func() time.Duration) {
	const tries = 3
	var took time.Duration
	for range tries {
		if took = call(); took <= t.promptly() {
			return
		}
	}
	t.Fatalf("%s took %v with a working store, and was slow %d times in a row", what, took.Round(time.Millisecond), tries)
}

// join waits for goroutines of Go, and fails the trial if one does not end.
func (t *Trial) join(what string, done ...<-chan struct{}) {
	t.joinWithin(t.patience(), what, done...)
}

func (t *Trial) joinWithin(d time.Duration, what string, done ...<-chan struct{}) {
	for _, over := range done {
		if !t.within(d, over) {
			t.Fatalf("%s does not return", what)
		}
	}
	if t.ctx.Err() != nil { // one of them has failed the trial
		t.NotVerified("the case was ended")
	}
}
