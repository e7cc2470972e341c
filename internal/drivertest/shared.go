package drivertest

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// startTimeout bounds the start of servers, with that they may have to be built
// first.
const startTimeout = 8 * time.Minute

// Shared is a cluster that all tests of a package share, which keep apart by
// their namespaces. Its methods may be called from any goroutine.
type Shared[C io.Closer] struct {
	start   func(context.Context) (C, error)
	once    sync.Once
	started bool
	cluster C
	err     error
}

// Share returns a cluster that start will start, with opts, when it is first
// asked for.
func Share[C io.Closer, O any](start func(context.Context, O) (C, error), opts O) *Shared[C] {
	return &Shared[C]{start: func(ctx context.Context) (C, error) { return start(ctx, opts) }}
}

// Get returns the cluster, which it starts if nobody has asked for it before. It
// ends the test if that fails, as it does all others.
func (s *Shared[C]) Get(t testing.TB) C {
	t.Helper()
	s.once.Do(func() {
		// Not the test's context: others use the cluster too.
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		s.cluster, s.err = s.start(ctx)
		s.started = s.err == nil
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.cluster
}

// Close closes the cluster if it was started. No test may run any more.
func (s *Shared[C]) Close() error {
	if !s.started {
		return nil
	}
	return s.cluster.Close()
}

// Main runs the tests of a package, closes what they share, and ends the program,
// in failure also if a goroutine is left.
func Main(m *testing.M, shared ...io.Closer) {
	code := m.Run()
	complain := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	for _, s := range shared {
		complain(s.Close())
	}
	if code == 0 {
		complain(leaked())
	}
	os.Exit(code)
}

// leaked tells of goroutines that do not end. A client library that is closed
// while it has no connection may take some seconds.
func leaked() (err error) {
	for end := time.Now().Add(Patience); time.Now().Before(end); {
		if err = goleak.Find(); err == nil {
			break
		}
	}
	return err
}
