package model

import (
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"math"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// Stamp is a place in the order of the events of a history: calls begin and end
// one after the other, each at a stamp of its own. The first is Step, and the
// others follow at a distance of Step.
type Stamp int

// Step lies between two events. What happens between them can be given the stamp
// in the middle.
const Step Stamp = 2

const never Stamp = math.MaxInt

// Op is a kind of call, or of an operator's act.
type Op string

// The calls of connections and sessions, and the acts of operators.
const (
	OpenSession  Op = "OpenSession"
	Create       Op = "Create"
	CreateList   Op = "CreateList"
	Abandon      Op = "Abandon"
	List         Op = "List"
	ListNames    Op = "ListNames"
	WaitDelete   Op = "WaitDelete"
	WaitAny      Op = "WaitAny"
	Update       Op = "Update"
	Delete       Op = "Delete"
	Close        Op = "Close"
	ConnList     Op = "Conn.List"
	Watch        Op = "Watch"
	ConnClose    Op = "Conn.Close"
	Expire       Op = "Expire"
	RemoveNode   Op = "RemoveNode"
	RemoveDir    Op = "RemoveDir"
	PlantForeign Op = "PlantForeign"
	Compact      Op = "Compact"
)

// History is what the clients of a store did and were told.
type History struct {
	Calls    []*Call // in the order of Begin
	Sessions []*Session
	Faults   []Fault
	Dirs     []string // that the calls are about, by the number that the program gives them
	TTL      time.Duration
	Caps     driver.Caps
	Lag      time.Duration // how late the process's timers were, all together
}

// Session is a session that was opened.
type Session struct {
	Name string // as in "A"
	ID   string
	Conn int // index of its connection

	Opened     *Call
	Asked, TTL time.Duration // asked for, and granted
	Err        error         // why it ended

	// Open is the last stamp at which Done was seen open, Done the first at which it
	// was seen closed; 0: never.
	Open, Done Stamp
	DoneAt     time.Duration
	Revived    string // how it came back after its end; empty: it did not

	closing *Call // the first Close, of it or of its connection
	expired *Call // the first Expire
}

// Fault is something that was wrong with the link of a connection.
type Fault struct {
	Conn     int
	Name     string // as in "Freeze(up)"
	Breaks   bool   // it does more than to make it slow
	Silent   bool   // what is lost or late in it goes unnoticed when it is over
	From, To time.Duration
}

// Call is a call, or an act of an operator, and how it ended.
type Call struct {
	Name    string // of its step, as in "#7"
	Op      Op
	Conn    int      // index of the connection
	Session *Session // nil: of the connection itself, or of an operator
	Dir, ID string
	Data    Data // given
	TooLong bool // Data is longer than MaxData
	Nodes   []Node

	Begin, End     Stamp // End is 0 while it has not returned
	BeginAt, EndAt time.Duration
	Lag            time.Duration // how late timers were meanwhile
	CtxEnd         time.Duration // when its ctx ended, if Ctx is not nil
	Ctx            error         // of the ctx when the call had returned

	Err    error
	Node   Node   // returned
	List   []Node // returned
	Index  int    // returned
	States []State

	Final   bool   // nothing else happens any more
	Failing bool   // a call like this failed again and again, for long, without a fault
	Missing string // what should have happened and did not, until the end
	Lacks   string // the rule that it breaks with that; empty: its own
	Panic   string // of the driver
	Odd     string // how a watch ended otherwise than with one error

	seen    Stamp  // its effect was seen by then
	Changed string // what the caller got and was changed later
}

// State is what a watch showed.
type State struct {
	Stamp Stamp
	Nodes []Node
}

// Node is what a history keeps of a driver.Node.
type Node struct {
	Dir, ID, Key, Session string
	Seq, Token            uint64
	Data                  Data
}

// NodeOf makes a Node of a driver's.
func NodeOf(n driver.Node) Node {
	return Node{n.Dir, n.ID, n.Key, n.Session, n.Seq, n.Token, DataOf(n.Data)}
}

// Data stands for bytes: equal bytes have equal Data.
type Data struct {
	Len  int
	head [8]byte
	sum  uint64
}

var seed = maphash.MakeSeed()

// DataOf makes a Data. No bytes, nil or not, are the zero value.
func DataOf(b []byte) Data {
	if len(b) == 0 {
		return Data{}
	}
	d := Data{Len: len(b), sum: maphash.Bytes(seed, b)}
	copy(d.head[:], b)
	return d
}

// String shows how many bytes there are, and the first of them.
func (d Data) String() string {
	switch d.Len {
	case 0:
		return "no data"
	case 1:
		return fmt.Sprintf("1 byte %x", d.head[:1])
	}
	more := ""
	if d.Len > len(d.head) {
		more = "…"
	}
	return fmt.Sprintf("%d bytes %s%s", d.Len, hex.EncodeToString(d.head[:min(d.Len, len(d.head))]), more)
}
