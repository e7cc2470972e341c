package foreign

import (
	"errors"
	"fmt"
	"math"
)

// The names of the cases.
const (
	// Uncontended is one client that locks and unlocks a key again and again.
	Uncontended = "uncontended"
	// Contention is clients that do so with the same key, each with a connection
	// of its own.
	Contention = "contention"
	// Drain is waiters that stand in the queue behind a holder, who then unlocks,
	// and who lock and unlock once.
	Drain = "drain"
	// Keys is one client that locks and unlocks many keys at once, each of them
	// again and again in a thread of its own.
	Keys = "keys"
)

// Case is work to be measured.
type Case struct {
	// Name is [Uncontended], [Contention], [Drain] or [Keys].
	Name string
	// Clients is how many clients there are in Contention and Drain.
	Clients int
	// Waiters is how many there are in Drain, spread over the clients.
	Waiters int
	// Keys is how many there are in Keys.
	Keys int
	// Seconds is how long after the start a thread begins another lock. Drain ends
	// with its last waiter instead.
	Seconds float64
}

// Result is what came of a case. Connections are open, and waiters in the queue,
// before its clock starts.
type Result struct {
	// Ops is how many times a lock was taken and released, in Drain by waiters.
	Ops int
	// Seconds is the time from the start, in Drain that of the holder's unlock, to
	// the end of the last unlock.
	Seconds float64
	// LatenciesMicros has for every lock and unlock the microseconds from the
	// call of lock to the return of unlock, in no useful order. It is empty for
	// Drain, where they depend on when waiters came.
	LatenciesMicros []int64
	// HandoffMicros has the microseconds from the call of unlock to the return of
	// lock in the next holder, if that one had called lock before. It has no
	// useful order.
	HandoffMicros []int64
	// PerClientOps has the part of each client in Ops.
	PerClientOps []int
}

// request returns the case as workers are told it: what a case has not is 1, so
// that they need not know which it has.
func (c Case) request(path string) (request, error) {
	r := request{Name: c.Name, Path: path, Clients: 1, Keys: 1}
	var errs []error
	count := func(field string, n int) int {
		if n < 1 {
			errs = append(errs, fmt.Errorf("option %s is %d, expected at least 1", field, n))
		}
		return n
	}
	switch c.Name {
	case Uncontended:
	case Contention:
		r.Clients = count("Clients", c.Clients)
	case Drain:
		r.Clients, r.Waiters = count("Clients", c.Clients), count("Waiters", c.Waiters)
	case Keys:
		r.Keys = count("Keys", c.Keys)
	default:
		return r, fmt.Errorf("case %q: expected %s, %s, %s or %s", c.Name, Uncontended, Contention, Drain, Keys)
	}
	if c.Name != Drain {
		if r.Seconds = c.Seconds; !(c.Seconds > 0) || math.IsInf(c.Seconds, 0) {
			errs = append(errs, fmt.Errorf("option Seconds is %v, expected more than 0", c.Seconds))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return r, fmt.Errorf("case %s: %w", c.Name, err)
	}
	return r, nil
}

// request is a line of a worker's input.
type request struct {
	Name    string  `json:"name"`
	Path    string  `json:"path"` // for the case alone; keys are below it
	Clients int     `json:"clients"`
	Waiters int     `json:"waiters"`
	Keys    int     `json:"keys"`
	Seconds float64 `json:"seconds"`
}

// answer is a line of a worker's output: first its version, then one for each
// request.
type answer struct {
	Version         string  `json:"version"`
	Error           string  `json:"error"`
	Ops             int     `json:"ops"`
	Seconds         float64 `json:"seconds"`
	LatenciesMicros []int64 `json:"latenciesMicros"`
	HandoffMicros   []int64 `json:"handoffMicros"`
	PerClientOps    []int   `json:"perClientOps"`
}
