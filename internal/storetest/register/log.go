package register

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Entry is an operation with its answer, as the log has it.
type Entry struct {
	Client int // who, a small number; operations of one client do not overlap
	Op
	Answer

	// Held: the holder's lock was proved held after the answer had come.
	Held bool

	// Call and Return are steps of the log, in the order of time: if one operation
	// returned before another was called, its Return is less than the other's Call.
	Call, Return int64
}

// Log does operations on a register and records them. It is safe for concurrent
// use; the operations run at the same time as the callers do.
type Log struct {
	Object Object // set before use

	steps   atomic.Int64
	mu      sync.Mutex
	entries []Entry
}

// Do carries out an operation and records it. The entry's number is for Held.
func (l *Log) Do(client int, op Op) (a Answer, entry int) {
	call := l.steps.Add(1)
	a = l.Object.Do(op)
	back := l.steps.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, Entry{Client: client, Op: op, Answer: a, Call: call, Return: back})
	return a, len(l.entries) - 1
}

// Held records that the lock was proved held after the answer of an entry had come.
func (l *Log) Held(entry int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries[entry].Held = true
}

// Entries returns what was recorded so far.
func (l *Log) Entries() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries)
}
