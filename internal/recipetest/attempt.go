package recipetest

import (
	"errors"
	"testing/synctest"
	"time"
)

// Attempt is a call under way that may have to wait, and in the end gives a hold
// of type H or an error.
type Attempt[H comparable] struct {
	Over chan struct{} // closed when the call has returned; then, and not before:
	Held H
	Err  error
	At   time.Time // when it returned

	w *World
}

// Begin makes a call, which sets Held and Err, on a goroutine of its own, and
// returns when it is done or blocked.
func Begin[H comparable](w *World, call func(*Attempt[H])) *Attempt[H] {
	a := &Attempt[H]{Over: make(chan struct{}), w: w}
	go func() {
		defer close(a.Over)
		call(a)
		a.At = time.Now()
	}()
	synctest.Wait()
	return a
}

// Blocked wants the calls not to have returned.
func Blocked[H comparable](attempts ...*Attempt[H]) {
	attempts[0].w.Helper()
	attempts[0].w.Settle()
	for _, a := range attempts {
		if over(a.Over) {
			a.w.Fatalf("a call returned %v, error %v; want it blocked", a.Held, a.Err)
		}
	}
}

// Done reports whether the call has returned, once everybody is blocked.
func (a *Attempt[H]) Done() bool {
	a.w.Settle()
	return over(a.Over)
}

// Ended wants the call to have returned.
func (a *Attempt[H]) Ended() {
	a.w.Helper()
	if !a.Done() {
		a.w.Fatal("a call is blocked; want it ended")
	}
}

// Granted wants the call to have succeeded, and returns what it gave.
func (a *Attempt[H]) Granted() H {
	a.w.Helper()
	a.Ended()
	if a.Err != nil {
		a.w.Fatalf("error %v; want a grant", a.Err)
	}
	return a.Held
}

// Failed wants the call to have failed with an error that Is want, and to have
// given nothing.
func (a *Attempt[H]) Failed(want error) {
	a.w.Helper()
	a.Ended()
	var nothing H
	if !errors.Is(a.Err, want) || a.Held != nothing {
		a.w.Fatalf("%v, error %v; want %v", a.Held, a.Err, want)
	}
}
