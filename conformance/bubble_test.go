package conformance_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// bubble is synctest.Test with a limit of virtual time, for code that is broken on purpose
// or at random. If such code leaves goroutines that poll for ever, the panic names the test.
// Without it, time would go on in the bubble until the limit of the whole package.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		name := t.Name()
		time.AfterFunc(100*time.Hour, func() { panic(name + " has left goroutines that do not end") })
		f(t)
	})
}
