package contest

import "time"

// Sample is what one side did in one turn.
type Sample struct {
	Ops     int
	Seconds float64

	// Latencies are of one operation each: from Lock's call to Unlock's return,
	// or what the case says.
	Latencies []time.Duration
	// Handoffs are from Unlock's call to the next Lock's return, while somebody
	// waited.
	Handoffs []time.Duration
	// PerClient is how often each contender got what it wanted.
	PerClient []int
	// Violations counts those who got the lock out of the order of arrival, and
	// Checked those of whom it could be told; see package work on what is an
	// order.
	Violations, Checked int
	// CPU is the processor time of the clients' process.
	CPU time.Duration
	// Cost is what the store is made to do; nil if it was not counted.
	Cost *Cost
	// Syncs is how often the servers wrote to their disks for an operation, all
	// together; 0 if they do not tell.
	Syncs float64
	// Waiting is what it costs to stand in line.
	Waiting *Waiting
	// Value is the result of a case that has another than a rate.
	Value float64
	// Worst is the worst of what Value is the median of; 0 if that is not told.
	Worst float64
	// Partial: the work was not done in the time it was given. The numbers are of
	// what was done until then.
	Partial bool
	// Note says why the work was not done, or what else there is to know.
	Note string
}

// Rate is the operations per second.
func (s Sample) Rate() float64 {
	if s.Seconds <= 0 {
		return 0
	}
	return float64(s.Ops) / s.Seconds
}

// Cost is what an operation makes a store do.
type Cost struct {
	Requests float64 `json:"requests"` // that clients send, but for keeping sessions alive
	Commits  float64 `json:"commits"`  // that the servers agree on
}

// Waiting is what each of many who stand in line costs, where they stand.
type Waiting struct {
	Waiters     int     `json:"waiters"`
	Goroutines  float64 `json:"goroutines"` // the waiter's own call included
	Connections float64 `json:"connections"`
	HeapBytes   float64 `json:"heap_bytes"`  // in use after a collection
	StackBytes  float64 `json:"stack_bytes"` // of goroutines; a collection halves what is not needed
}
