package coord

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"time"
)

// MaxOwner is the most bytes of an Owner, as JSON. With MaxValue it stays below
// what a node of any store carries.
const MaxOwner = 8 << 10

// Owner says who stands behind an entry of a queue, for the people who look at
// it. It proves nothing.
type Owner struct {
	// Host and PID are filled in by the client that made the entry.
	Host string `json:"host,omitempty"`
	PID  int    `json:"pid,omitempty"`

	// Name and Labels are what the program adds in Config.
	Name   string            `json:"name,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
}

// Contender is an entry of a queue as every client can see it.
type Contender struct {
	Owner   Owner
	Since   time.Time // when the entry was made, by the clock of its owner
	Token   uint64    // the fencing token that it has or would get
	Session string    // the ID of its session in the store
	Key     string    // its name in the store, for operators

	// What only some recipes have.
	Mode    Mode   // what a read-write lock is wanted for
	Permits int    // how many of a semaphore's
	Value   []byte // what a candidate or leader has last proclaimed
}

// Mode says how a lock that can be shared is held or wanted.
type Mode string

// The modes of a read-write lock.
const (
	Reading Mode = "read"
	Writing Mode = "write"
)

// Revocation is a request to let go of what is held.
type Revocation struct {
	By     Owner
	Since  time.Time // when it was made, by the clock of who made it
	Reason string
}

// Contenders is one look at a queue, each part in the order of arrival.
type Contenders struct {
	Holders []Contender
	Waiters []Contender
}

// identify completes what the program says of itself.
func (o Owner) identify() (Owner, error) {
	if o.Host == "" {
		o.Host, _ = os.Hostname() // who cannot tell its name goes without
	}
	if o.PID == 0 {
		o.PID = os.Getpid()
	}
	o.Labels = maps.Clone(o.Labels) // which stay the caller's
	text, err := json.Marshal(o)
	if err != nil {
		return o, fmt.Errorf("%w owner: %w", ErrInvalid, err)
	}
	if len(text) > MaxOwner {
		return o, fmt.Errorf("%w owner: its name and labels have %d bytes as JSON; want at most %d", ErrInvalid, len(text), MaxOwner)
	}
	return o, nil
}
