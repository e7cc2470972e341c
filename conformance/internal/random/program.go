package random

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/model"
	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// Program is what several clients do to a store: waves of steps, one wave after the
// other. The steps of one wave run at the same time. A wave ends when its calls have
// returned; those that Stay go on beside the waves after it.
type Program struct {
	Kind  string
	Seed  uint64
	Links []bool // by connection: whether it has a link that can be broken
	Dirs  []string
	Waves [][]Step
}

// Step is one call, one act of an operator, or one fault of a link.
type Step struct {
	ID      int
	Op      model.Op
	Conn    int // connection of the call or the fault
	Session int // session of the call; -1: none
	Dir     int
	Slot    string // the node's id
	Data    Data
	Of      []int // the steps that returned the nodes which it is about
	As      int   // the step in whose list the node is looked up; 0: as it was returned

	After  time.Duration // the wave's beginning
	Within time.Duration // until its ctx ends; 0: it does not; negative: it has ended
	Stays  bool          // the wave does not wait for it
	Pause  time.Duration // of the loop of a Watch at each state; of Sleep; of Delay; what a session's TTL is more
	To     netfault.Direction
}

// What can happen beside calls and the acts of operators.
const (
	Freeze          model.Op = "Freeze"
	Delay           model.Op = "Delay"
	DropReplies     model.Op = "DropReplies"
	DropConnections model.Op = "DropConnections"
	Cut             model.Op = "Cut"
	Heal            model.Op = "Heal"
	Hold            model.Op = "Hold"
	Release         model.Op = "Release"
	Sleep           model.Op = "Sleep"
)

// Data is what a step stores: Len bytes, made of Seed.
type Data struct {
	Len  int
	Seed uint64
}

// Bytes makes the data. Short ones are of any bytes, and begin with what text
// formats stumble over; of long ones a part is repeated.
func (d Data) Bytes() []byte {
	if d.Len == 0 {
		return nil
	}
	const part = 512
	rng := rand.New(rand.NewPCG(d.Seed, uint64(d.Len)))
	b := make([]byte, d.Len)
	for i := range min(d.Len, part) {
		b[i] = byte(rng.Uint32())
	}
	const odd = "\x00\xff \n{\"0-/\x80"
	if i := rng.IntN(2 * len(odd)); i < len(odd) {
		b[0] = odd[i]
	}
	for i := part; i < d.Len; i += part {
		copy(b[i:], b[:part])
	}
	if d.Len > 1 {
		b[d.Len-1] = byte(d.Seed) // so that what is cut off is missed
	}
	return b
}

// String shows the length and the first bytes.
func (d Data) String() string { return model.DataOf(d.Bytes()).String() }

// size returns how many steps there are.
func (p Program) size() (n int) {
	for _, w := range p.Waves {
		n += len(w)
	}
	return n
}

// sessionName is how a program prints a session.
func sessionName(i int) string { return string(rune('A' + i)) }

// text prints a step like a call of Go.
func (p Program) text(s Step) string {
	if s.Op == Sleep {
		return fmt.Sprintf("sleep(%v)", s.Pause)
	}
	who := fmt.Sprintf("conn%d.", s.Conn)
	switch {
	case isFault(s.Op):
		who = fmt.Sprintf("link%d.", s.Conn)
	case isAct(s.Op):
		who = "operator."
	case s.Op == model.OpenSession:
		who = sessionName(s.Session) + " := " + who
	case s.Session >= 0:
		who = sessionName(s.Session) + "."
	}
	return who + strings.TrimPrefix(string(s.Op), "Conn.") + "(" + strings.Join(p.args(s), ", ") + ")" + s.bounds()
}

func (p Program) args(s Step) (args []string) {
	dir := fmt.Sprintf("%q", p.Dirs[s.Dir])
	switch s.Op {
	case model.Create, model.CreateList:
		return []string{dir, fmt.Sprintf("%q", s.Slot), s.Data.String()}
	case model.Abandon:
		return []string{dir, fmt.Sprintf("%q", s.Slot)}
	case model.List, model.ListNames, model.ConnList, model.Watch, model.RemoveDir, model.PlantForeign:
		return []string{dir}
	case model.Expire:
		return []string{sessionName(s.Session)}
	case model.OpenSession:
		if s.Pause > 0 {
			return []string{fmt.Sprintf("TTL + %v", s.Pause)}
		}
		return []string{"TTL"}
	case Freeze:
		return []string{s.To.String()}
	case Delay:
		return []string{s.To.String(), s.Pause.String()}
	}
	for _, of := range s.Of {
		if s.As != 0 {
			args = append(args, fmt.Sprintf("(n%d as listed by #%d)", of, s.As))
		} else {
			args = append(args, fmt.Sprintf("n%d", of))
		}
	}
	if s.Op == model.Update {
		args = append(args, s.Data.String())
	}
	return args
}

// bounds says when a step begins, how long it may take, and who waits for it.
func (s Step) bounds() (text string) {
	if s.After > 0 {
		text += fmt.Sprintf(" after %v", s.After)
	}
	switch {
	case s.Within > 0:
		text += fmt.Sprintf(" within %v", s.Within)
	case s.Within < 0:
		text += " with a ctx that has ended"
	}
	if s.Op == model.Watch && s.Pause > 0 {
		text += fmt.Sprintf(" pausing %v at each state", s.Pause)
	}
	if s.Stays && s.Op == model.OpenSession {
		return text + " with a ctx that lives on"
	}
	if s.Stays {
		text += ", in the background"
	}
	return text
}

func isFault(op model.Op) bool {
	switch op {
	case Freeze, Delay, DropReplies, DropConnections, Cut, Heal, Hold, Release:
		return true
	}
	return false
}

func isAct(op model.Op) bool {
	switch op {
	case model.Expire, model.RemoveNode, model.RemoveDir, model.PlantForeign, model.Compact:
		return true
	}
	return false
}

// tooLong reports whether a step gives more data than a node may have.
func (s Step) tooLong() bool { return s.Data.Len > driver.MaxData }
