package conformance_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// crashingConn is a connection with a goroutine that panics when a session is opened.
type crashingConn struct{ driver.Conn }

func (c crashingConn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	go func() { panic("oops") }()
	<-ctx.Done()
	return nil, ctx.Err()
}

// crashing is a run in which one rule passes and one fails before the driver ends the
// process, while two cases are under way.
func crashing() (conformance.Harness, conformance.Options) {
	h := memHarness(time.Second)
	var before sync.WaitGroup
	before.Add(2)
	begun := make(chan struct{})
	crash := one(func(t *conformance.Trial) {
		before.Wait()
		<-begun
		c, err := h.Open(t.Context(), t.Namespace())
		if err != nil {
			t.Fatalf("%v", err)
		}
		_, _ = crashingConn{c}.OpenSession(t.Context(), time.Second)
	})
	crash.ID, crash.Cases[0].Name = "X2", "that panics"
	waits := one(func(t *conformance.Trial) {
		close(begun)
		<-t.Context().Done()
	})
	waits.ID, waits.Cases[0].Name = "X3", "that waits"
	passes, fails := one(func(t *conformance.Trial) {}), one(func(t *conformance.Trial) { t.Fatalf("broken") })
	passes.ID = "X0"
	return h, conformance.Options{
		Rules:    []conformance.Rule{passes, fails, crash, waits},
		OnResult: func(conformance.Result) { before.Done() },
	}
}

func crashChild(t *testing.T) { h, o := crashing(); conformance.RunWith(t, h, o) }

func crashCheckChild(t *testing.T) {
	h, o := crashing()
	o.Crash = os.Stdout
	_, _ = conformance.Check(t.Context(), h, o)
}

// crashSoakChild soaks a driver that panics in the third second.
func crashSoakChild(t *testing.T) {
	h := wrapped(memHarness(time.Second), func(c driver.Conn) driver.Conn {
		time.AfterFunc(3*time.Second, func() { panic("oops") })
		return c
	})
	conformance.RunWith(t, h, conformance.Options{Rules: pick(t, "G2"), Soak: time.Minute})
}

// A soak that the driver ends with the process is named by the report.
func TestCrashInTheSoak(t *testing.T) {
	out := runAs(t, "crash in the soak")
	for _, want := range []string{"panic: oops", "G2  NOT VERIFIED", "under way when the process ended: G2 under faults"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not print %q:\n%s", want, out)
		}
	}
}

// A driver that ends the process leaves a report of what was known, and the trace names
// the case.
func TestCrash(t *testing.T) {
	for _, name := range []string{"crash", "crash of Check"} {
		out := runAs(t, name)
		for _, want := range []string{
			"panic: oops",
			`/X2-that-panics"}]`,
			"the process ended in the middle of the run. What was known of mem:",
			"X0  passed",
			"X1  FAILED",
			"X2  NOT VERIFIED",
			"X3  NOT VERIFIED",
			"only: broken",
			"that panics: it was under way when the process ended",
			"mem: 4 rules: 1 passed, 1 FAILED, 2 NOT VERIFIED, 0 waived",
			"under way when the process ended: X2 that panics, X3 that waits",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: it does not print %q:\n%s", name, want, out)
			}
		}
	}
}
