// Package register is a resource behind a lock: a register that refuses a fencing
// token lower than the highest it has seen, a log of what the lock's holders read and
// wrote, and a check of that log with porcupine.
//
// The check is a second opinion on package history, which judges a lock by the
// contexts of its holders. Here the resource judges: its reads and writes must be
// those of one register that never goes back to a lower token, and it must never have
// refused a holder that still held the lock when the answer had come.
package register

import "sync"

// Op is a request to a register: a read or a write, with the holder's token.
type Op struct {
	Token uint64
	Write bool
	Value uint64 // to write
}

// Answer is a register's answer.
type Answer struct {
	Refused bool   // a higher token was seen before; nothing was read or written
	Value   uint64 // read
}

// Object is a register, fenced or not. It is safe for concurrent use.
type Object interface {
	// Do carries out an operation.
	Do(op Op) Answer
}

// Fenced is a register that every operation, also a read, raises the fence of: the
// highest token seen. It refuses lower tokens. The zero Fenced holds 0.
type Fenced struct {
	mu    sync.Mutex
	fence uint64
	value uint64
}

// Do carries out an operation.
func (r *Fenced) Do(op Op) Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if op.Token < r.fence {
		return Answer{Refused: true}
	}
	r.fence = op.Token
	if op.Write {
		r.value = op.Value
	}
	return Answer{Value: r.value}
}
