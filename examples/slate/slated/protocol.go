// Package slated is a toy store: keys with values under leases, one counter for
// all changes, transactions with conditions, and a call that blocks until a key
// is gone. It speaks one JSON object a line over TCP, one request at a time on a
// connection.
//
// It is there for package slate to be a driver of, as doc/writing-a-driver.md
// tells. It keeps everything in memory, and any client may do anything.
package slated

import "time"

// KV is a key with its value. Created and Modified are the revisions of its
// creation and last change. If it has a lease it goes with it.
type KV struct {
	Key               string
	Value             []byte
	Created, Modified uint64
	Lease             string
}

// Cond holds if the key was created at that revision, 0 for a key that does not exist,
// or if its value is a decimal number that is at most AtMost, or there is no such key.
// What is nil is not asked.
type Cond struct {
	Key             string
	Created, AtMost *uint64 `json:",omitempty"`
}

// Action puts a key, deletes one, or gets all that begin with a prefix: one of
// the three.
type Action struct {
	Put *KV    `json:",omitempty"`
	Del string `json:",omitempty"`
	Get string `json:",omitempty"`
}

// Request is what a client sends. Op says which of the other fields count.
type Request struct {
	Op         string        // grant, renew, revoke, txn, wait
	TTL        time.Duration `json:",omitempty"` // grant, renew: from MinTTL to MaxTTL
	Lease      string        `json:",omitempty"` // renew, revoke
	If         []Cond        `json:",omitempty"` // txn: if all hold, Then is done, and Else otherwise
	Then, Else []Action      `json:",omitempty"`
	Key        string        `json:",omitempty"` // wait: until it is gone
	Created    uint64        `json:",omitempty"` // wait: or made anew
}

// Reply is the answer to a Request.
type Reply struct {
	Err   string `json:",omitempty"` // why nothing was done: lease (there is none), ttl (out of range), or a sentence
	OK    bool   // txn: the conditions held; wait: it is gone, and not just the time for an answer over
	Rev   uint64 // the revision at which the answer is true
	Lease string `json:",omitempty"` // grant
	Got   [][]KV `json:",omitempty"` // txn: one for each Get, sorted by key
}

// MinTTL and MaxTTL are the range of what can be granted.
const MinTTL, MaxTTL = 500 * time.Millisecond, time.Hour
