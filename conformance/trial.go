package conformance

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Trial is given to a check: one run of one case. Its methods say what was
// found, open connections that close themselves, and look at the store from
// outside. They are safe for concurrent use.
//
// Fatalf and NotVerified end the goroutine that calls them, as in package
// testing, and so do the methods that fail the trial on their own.
type Trial struct {
	h         Harness
	namespace string
	ctx       context.Context
	cancel    context.CancelFunc
	pulse     *pulse
	seed      uint64
	exact     bool
	count     int           // Options.Programs
	soak      time.Duration // Options.Soak
	with      variant       // set before the check begins, as ctxAlive
	ctxAlive  bool          // calls whose request or reply does not arrive are ended by the driver

	given      atomic.Int64 // nodes with data of the trial's choice
	turns      atomic.Int64 // of the ways to wait by WaitAny
	companions companions
	noData     atomic.Bool // the case's lists may be without the data of nodes

	mu       sync.Mutex
	status   Status
	detail   string
	decided  bool     // status and detail stand
	nothing  bool     // there was nothing to check
	cleanups []func() // run last first
	watcher  watcher
}

// Context lives as long as the trial. What is opened under it stays open until
// the trial ends.
func (t *Trial) Context() context.Context { return t.ctx }

// Harness is what the trial runs on, with its defaults filled in.
func (t *Trial) Harness() Harness { return t.h }

// Namespace is the trial's own, used by nobody before.
func (t *Trial) Namespace() string { return t.namespace }

// Seed is what random choices are to be made of, so that they can be repeated.
func (t *Trial) Seed() uint64 { return t.seed }

// Exact reports whether nothing is slow by itself and waiting costs nothing, as
// [Options].Exact says.
func (t *Trial) Exact() bool { return t.exact }

// Fatalf says that the rule is broken, and how. Only the first counts.
func (t *Trial) Fatalf(format string, args ...any) {
	t.decide(Failed, fmt.Sprintf(format, args...))
	t.cancel() // so that the check's other goroutines come to an end
	runtime.Goexit()
}

// NotVerified says that the case could not be checked, and why.
func (t *Trial) NotVerified(format string, args ...any) {
	t.decide(NotVerified, fmt.Sprintf(format, args...))
	t.cancel()
	runtime.Goexit()
}

// NotOffered says that there is nothing to check: the rule is about something
// optional that the driver does not have. The trial passes, with that note.
func (t *Trial) NotOffered(what string) {
	t.mu.Lock()
	t.nothing = t.nothing || !t.decided
	t.mu.Unlock()
	t.decide(Passed, "nothing to check: the driver does not offer "+what)
	t.cancel()
	runtime.Goexit()
}

// leaveTo ends the case, as passed, because of what another rule is about.
func (t *Trial) leaveTo(rule, why string) {
	t.decide(Passed, why+", which is for "+rule)
	t.cancel()
	runtime.Goexit()
}

func (t *Trial) decide(s Status, detail string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s == Failed && t.with.call != "" {
		detail = "with " + t.with.call + ": " + detail
	}
	if !t.decided {
		t.status, t.detail, t.decided = s, detail, true
	}
}

// verdict is how the trial stands.
func (t *Trial) verdict() (Status, string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status, t.detail
}

// vacant reports whether there was nothing to check.
func (t *Trial) vacant() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.nothing
}

// Cleanup calls f after the check, the last first. f must come to an end by
// itself.
func (t *Trial) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

// Go runs f on a goroutine that may call Fatalf, and in which a panic fails the
// trial. The channel is closed when it has ended.
func (t *Trial) Go(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer t.caught()
		f()
	}()
	return done
}

// caught, deferred, makes a panic a failure.
func (t *Trial) caught() {
	if p := recover(); p != nil {
		t.decide(Failed, fmt.Sprintf("the driver panicked: %v\n%s", p, debug.Stack()))
		t.cancel()
	}
}

// run checks a case and returns how the trial stands then. It gives up the
// check at the harness's time-out: what does not come to an end by its ctx is
// left behind and shown.
func (t *Trial) run(check func(*Trial)) (Status, string) {
	checked := make(chan struct{})
	go labeled(t.namespace, func() {
		defer close(checked)
		defer t.caught()
		check(t)
	})
	const grace = 2 * time.Second // for a check to see that its ctx has ended
	timer := time.NewTimer(t.h.Timeout + grace)
	defer timer.Stop()
	select { // a check that ends just at the time-out has not ended in time
	case <-checked:
		if t.ctx.Err() != nil { // what it saw after that is nothing
			t.decide(Failed, fmt.Sprintf("it did not end within %v", t.h.Timeout))
		}
	case <-timer.C:
		t.decide(Failed, fmt.Sprintf("it did not end within %v, and stands still in:%s", t.h.Timeout, hanging(t.namespace)))
	}
	t.cleanUp()
	return t.verdict()
}

// hanging shows the goroutines of a trial, as many as are useful.
func hanging(name string) (text string) {
	const most = 8
	found := stacks(name)
	for _, s := range found[:min(len(found), most)] {
		text += "\n\t" + s
	}
	return text
}

// cleanUp ends the trial's context and runs the cleanups, which are left behind
// if they take too long: a driver that hangs in Close must not hang the suite.
func (t *Trial) cleanUp() {
	t.cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			t.mu.Lock()
			n := len(t.cleanups)
			if n == 0 {
				t.mu.Unlock()
				return
			}
			f := t.cleanups[n-1]
			t.cleanups = t.cleanups[:n-1]
			t.mu.Unlock()
			func() {
				defer t.caught()
				f()
			}()
		}
	}()
	timer := time.NewTimer(10 * time.Second)
	defer timer.Stop()
	select { // whichever is first: the verdict stands already
	case <-done:
	case <-timer.C:
	}
}
