package trial

import (
	"context"
	"time"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/coord"
)

// Fault is what happens to the holders of many locks at a time, and who takes part.
type Fault struct {
	// Store and Name say where and what, for the table.
	Store, Name string

	// Holder acquires the locks and meets the fault.
	Holder Holder

	// Next and After wait for the locks. The fault leaves them alone, or they get
	// their store back before their own TTL has passed.
	Next, After *coord.Client

	// Cut begins the fault, and returns when it is in force.
	Cut func(ctx context.Context, s Scene) error

	// Lasts is how long the fault lasts. 0: until every holder was told that it
	// has lost its lock, and somebody else has it.
	Lasts time.Duration

	// Untold: a holder cannot be told while the fault lasts, as its process is
	// paused or dead.
	Untold bool

	// Outside: the fault ends holds in the store, without their holders' knowing, so
	// that there is no margin.
	Outside bool

	// Meanwhile, if not nil, is called when the holders were told and before others
	// can have the locks: it brings back a store that nobody could reach.
	Meanwhile func(ctx context.Context) error

	// Heal ends the fault.
	Heal func(ctx context.Context) error

	// Settle is how long those who hold locks after the fault keep them.
	Settle time.Duration

	// MayEnd, if not empty, says why the store itself may end sessions that live,
	// so that two hold a lock at a time, ordered by tokens.
	MayEnd string
}

// Scene is what a fault's Cut is told of the trials.
type Scene struct {
	// History is told before something is done that takes locks away from outside.
	History *history.History

	// Locks are those that are held.
	Locks []Lock
}

// HolderName is what the history calls the client that a fault happens to.
const HolderName = "H"

// Lock is a lock that is held.
type Lock struct {
	Name    string
	Token   uint64
	Session string
}

// Options say how many trials, and of what.
type Options struct {
	Trials   int           // locks
	Sessions int           // of the holder, opened at different times between two renewals
	TTL      time.Duration // of the holder's sessions
	Patience time.Duration // how long everything may take, after which it is called unresolved
	Seed     uint64        // of all choices
}
