package conformance

import (
	"github.com/coordkit/coordkit/conformance/internal/broken"
)

// The rules of recipes that are broken on purpose.

// MutexRules are those that run on any mutex.
func MutexRules(open broken.Mutex) []Rule { return mutexContestRules(open) }

// RWLockRules run on any read-write lock.
func RWLockRules(open broken.RWLock) []Rule { return rwlockRules(open) }

// SemaphoreRules run on any semaphore.
func SemaphoreRules(open broken.Semaphore) []Rule { return semaphoreRules(open) }

// ElectionRules run on any election.
func ElectionRules(open broken.Election) []Rule { return electionRules(open) }
