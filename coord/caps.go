package coord

import "github.com/coordkit/coordkit/coord/driver"

// Caps is a set of capabilities of a store, for Config.Require.
type Caps = driver.Caps

// The capabilities that a program may have a reason to insist on.
const (
	// CapShared: other processes see the same store.
	CapShared = driver.CapShared

	// CapWatch: observers see changes as they happen; without it the store is
	// asked every second.
	CapWatch = driver.CapWatch

	// CapDurable: fencing tokens keep rising over a restart of the store.
	CapDurable = driver.CapDurable
)
