// Package contest says what is compared: sides that do the same work on the same
// servers, each by its own means. The work is in package work, the sides are in
// package peers.
package contest

import (
	"context"
	"crypto/tls"
	"slices"
	"time"

	"github.com/coordkit/coordkit/internal/testserver"
)

// Ours is the name of coordkit's own side in every contest.
const Ours = "coordkit"

// Floor is the name of the side that shows what a store can do: a fair lock,
// written by hand, with the fewest sequential requests that a correct one needs,
// through the same client library, and without any knowledge kept between
// locks.
const Floor = "floor"

// Failover is the name of the foreign case in which as many leaders as there are
// clients are killed, and of which the sample's latencies are those of the elections
// of their successors.
const Failover = "failover"

// Kind is what a side must have to take part in a case.
type Kind string

// The kinds of work. A Program of a side implements the interface that is named
// here.
const (
	Locks      Kind = "lock"            // Program itself
	Elections  Kind = "election"        // Candidates, or Program itself where a lock is all there is
	Observers  Kind = "observers"       // Observed
	Permits    Kind = "semaphore"       // Limited
	ReadWrites Kind = "read-write lock" // ReadWriter
)

// Dial says how a program connects.
type Dial struct {
	Servers []string             // as host:port; a client of one server takes the first
	TTL     time.Duration        // of sessions
	TLS     *testserver.TLSFiles // nil: without TLS
}

// TLSConfig returns a client's configuration, or nil without TLS.
func (d Dial) TLSConfig() (*tls.Config, error) {
	if d.TLS == nil {
		return nil, nil
	}
	return d.TLS.Config()
}

// Of returns what the i-th program connects by: it knows the servers in an order of
// its own, whichever side it is of.
func (d Dial) Of(i int) Dial {
	at := i % max(len(d.Servers), 1)
	d.Servers = slices.Concat(d.Servers[at:], d.Servers[:at])
	return d
}

// Side is one who takes part.
type Side struct {
	// Name is its name in tables, the same in every run.
	Name string
	// Kinds is what it has.
	Kinds []Kind
	// Lacks says why it does not do work that it has a recipe for, by kind; nil if
	// there is none.
	Lacks map[Kind]string
	// Open connects a program. ctx bounds the opening and not the program's life.
	Open func(ctx context.Context, d Dial) (Program, error)
	// Standing counts those who stand in the line of a key, the holder among
	// them, by looking into the store. It is nil where nothing in the store
	// tells, and then lines are given time to form.
	Standing func(ctx context.Context, d Dial, key string) (int, error)
	// Foreign runs a whole turn in a process of its own, with what is not
	// written in Go. Open and Standing are nil then.
	Foreign func(ctx context.Context, d Dial, c ForeignCase) (Sample, error)
	// Close ends what the side keeps between turns; nil if that is nothing.
	Close func() error
	// Version is what a Foreign side is, as "kazoo 2.8.0, Python 3.11.2", or empty
	// if it has not run; nil for others.
	Version func() string
}

// Has reports whether the side can do such work.
func (s Side) Has(k Kind) bool { return slices.Contains(s.Kinds, k) }

// ForeignCase is work that a foreign side is asked to do.
type ForeignCase struct {
	Name                   string // a case of package foreign, or Failover; empty if there is none
	Clients, Waiters, Keys int
	Limit                  int
	Warm, Seconds          float64
	// Begin and End are called before and after what is measured.
	Begin, End func()
}

// Program is what one program has of a store: a client with its connection, and
// what is bound to it.
type Program interface {
	// Locker returns the lock called key for one who uses it, one call at a
	// time. Each Locker of a key is another contender.
	Locker(ctx context.Context, key string) (Locker, error)
	// Close ends the program's sessions and its connection.
	Close() error
}

// Locker is a lock as one contender has it. Lock waits for its turn; where the
// peer's own call cannot be interrupted, ctx may end without effect.
type Locker interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
}

// Numbered is what a Locker has if its entries are numbered in the order in which
// they came to the line.
type Numbered interface {
	// Number returns that of the entry that holds the lock.
	Number() uint64
}

// Candidates is what a Program has if there is an election that is more than a
// lock. To lock is to be elected, to unlock is to resign.
type Candidates interface {
	Candidate(ctx context.Context, key string) (Locker, error)
}

// Observed is what a Program has if an election can be observed.
type Observed interface {
	// Lead wins the election called key and returns a function that has the
	// leader proclaim a value, and one that resigns.
	Lead(ctx context.Context, key string) (proclaim func(ctx context.Context, value string) error, resign func(ctx context.Context) error, err error)
	// Observe calls see with each value that is shown, until ctx ends.
	Observe(ctx context.Context, key string, see func(value string)) error
}

// Limited is what a Program has if there is a semaphore.
type Limited interface {
	// Permit returns the semaphore called key for one contender, who holds one of
	// limit permits at a time.
	Permit(ctx context.Context, key string, limit int) (Locker, error)
}

// ReadWriter is what a Program has if there is a read-write lock.
type ReadWriter interface {
	// ReadWrite returns both sides of the read-write lock called key, for one
	// contender.
	ReadWrite(ctx context.Context, key string) (read, write Locker, err error)
}
