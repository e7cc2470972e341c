package random

import (
	"time"

	"github.com/coordkit/coordkit/conformance/harness"
)

// Store is where a program runs. Of the functions of the harness only Open is
// required; programs do without the others.
type Store struct {
	harness.Harness
	Namespace string

	// Lag is how late the process's timers were since a time, all together.
	Lag func(since time.Time) time.Duration
}
