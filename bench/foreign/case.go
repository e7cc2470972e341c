package foreign

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
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
	// Semaphore is clients that acquire and release one of Limit permits again and
	// again.
	Semaphore = "semaphore"
	// ReadWrite is clients that lock and unlock a read-write lock again and again,
	// nine times to read and the tenth time to write. kazoo's hangs at that, and is
	// not asked to.
	ReadWrite = "readwrite"
	// Election is one client that is elected and resigns again and again.
	Election = "election"
	// Lead is clients that are elected, each for a key of its own, one after the
	// other within the timeout of their sessions, and lead until the peer is closed.
	Lead = "lead"
	// Follow is the same on the keys of another peer's Lead, but all at once.
	Follow = "follow"
)

// session is the timeout of sessions where a case says none.
const session = 10 * time.Second

// Case is work to be measured.
type Case struct {
	// Name is one of those above.
	Name string
	// Session is the timeout of sessions; 0 means 10 s. Clients are kept for later
	// cases with the same one.
	Session time.Duration
	// Clients is how many clients there are, where there is more than one.
	Clients int
	// Waiters is how many there are in Drain, spread over the clients.
	Waiters int
	// Keys is how many there are in Keys.
	Keys int
	// Limit is how many hold the semaphore at a time.
	Limit int
	// Seconds is how long after the start a thread begins another lock. Drain ends
	// with its last waiter instead.
	Seconds float64
	// Path is where the keys of Lead and Follow are, which are 0, 1, and so on.
	Path string
	// Begin is called when all is prepared, and in Drain the line stands; nil if
	// nothing need be done then.
	Begin func()
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
	// ElectedMicros is when the client of each key was elected, in microseconds
	// since 1970. It is all there is of Lead and Follow.
	ElectedMicros []int64
}

// request returns the case as workers are told it: what a case has not is 1, so
// that they need not know which it has.
func (c Case) request(path string) (request, error) {
	r := request{Name: c.Name, Path: path, Clients: 1, Keys: 1, Limit: 1, Session: session.Milliseconds()}
	if c.Session != 0 {
		r.Session = c.Session.Milliseconds()
	}
	var errs []error
	count := func(field string, n int) int {
		if n < 1 {
			errs = append(errs, fmt.Errorf("option %s is %d, expected at least 1", field, n))
		}
		return n
	}
	switch c.Name {
	case Uncontended, Election:
	case Contention:
		r.Clients = count("Clients", c.Clients)
	case Drain:
		r.Clients, r.Waiters = count("Clients", c.Clients), count("Waiters", c.Waiters)
	case Keys:
		r.Keys = count("Keys", c.Keys)
	case Semaphore:
		r.Clients, r.Limit = count("Clients", c.Clients), count("Limit", c.Limit)
	case ReadWrite:
		r.Clients = count("Clients", c.Clients)
		r.Limit = r.Clients
	case Lead, Follow:
		r.Clients = count("Clients", c.Clients)
		r.Keys, r.Path = r.Clients, c.Path
		if c.Path == "" {
			errs = append(errs, errors.New("option Path is empty, expected where the keys are"))
		}
	default:
		return r, fmt.Errorf("case %q: expected %s", c.Name,
			strings.Join([]string{Uncontended, Contention, Drain, Keys, Semaphore, ReadWrite, Election, Lead, Follow}, ", "))
	}
	if r.Session < 1 {
		errs = append(errs, fmt.Errorf("option Session is %v, expected at least 1ms", c.Session))
	}
	if !slices.Contains([]string{Drain, Lead, Follow}, c.Name) {
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
	Limit   int     `json:"limit"`
	Seconds float64 `json:"seconds"`
	Session int64   `json:"session"` // milliseconds
}

// answer is a line of a worker's output: first its version, then two for each
// request: that it is ready, and what came of it. An error may come instead of
// either.
type answer struct {
	Version         string  `json:"version"`
	Ready           bool    `json:"ready"`
	Error           string  `json:"error"`
	Ops             int     `json:"ops"`
	Seconds         float64 `json:"seconds"`
	LatenciesMicros []int64 `json:"latenciesMicros"`
	HandoffMicros   []int64 `json:"handoffMicros"`
	PerClientOps    []int   `json:"perClientOps"`
	ElectedMicros   []int64 `json:"electedMicros"`
}
