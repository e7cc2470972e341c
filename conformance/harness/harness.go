// Package harness is what tests of a driver need to know of it and of its store:
// how to connect, and how to do to the store what the driver cannot. Package
// conformance, whose names for these types a driver author uses, checks rules with
// it, and package soak lets random programs run on it.
package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// Harness says how to reach a store through the driver under test, and how to
// do to the store what the driver cannot: break the link, act as an operator,
// count what is left. Open, Name and TTL are required. Each of the rest may be
// nil, which leaves unverified what needs it.
//
// The functions are called concurrently, each time with a namespace that was
// never used before or belongs to the same case. ctx bounds the call, and not
// what it returns.
type Harness struct {
	// Name names the driver and the store in results, as "etcd" or "etcd, 3
	// members".
	Name string

	// Open connects to the store in namespace, with no fault in between.
	Open func(ctx context.Context, namespace string) (driver.Conn, error)

	// TTL is what tests open sessions with: as short as the store grants
	// without changing it. Most cases last a few TTL.
	TTL time.Duration

	// Expiry is how long after a client's last sign of life others may still
	// see its nodes, at the most: the TTL and what the store adds to it. Zero
	// is three TTL and five seconds. It is a bound and not a delay: a larger
	// value makes only a failing case longer.
	Expiry time.Duration

	// Timeout bounds each case. Zero is enough for every store.
	Timeout time.Duration

	// Waive holds, by rule ID, the reason why a rule need not hold. A rule
	// that is waived and passes fails the run.
	Waive map[string]string

	// OpenLink is Open through a link that can be broken: typically a
	// netfault.Proxy or Group before the store, which are Links as they are.
	// Each call makes a link of its own. If the Link is an io.Closer it is
	// closed after the Conn.
	OpenLink func(ctx context.Context, namespace string) (driver.Conn, Link, error)

	// Hold keeps the next request that the driver sends for a call from landing until
	// release is called. Later requests of the driver overtake it, and its sender sees
	// nothing but silence or a reset. A link of one TCP connection cannot do it. One of
	// two proxies can, by freezing the one that the driver talks to: after an attempt
	// without an answer it turns to the other. A netfault.Gate in the driver's dialer
	// can, if the driver sends later requests on another connection. So can an
	// interceptor in the store's client, where the driver cannot tell a request that
	// the interceptor keeps from one that is on its way. It keeps a copy, as what is on
	// its way has been encoded.
	Hold func(l Link) (release func())

	// Expire ends the session in the store at once, as the store itself would
	// when the TTL has passed, without telling the driver.
	Expire func(ctx context.Context, namespace string, s driver.Session) error

	// RemoveNode removes the node from the store as an operator would. If that node is gone,
	// it may remove a later one with the same Key, and need not.
	RemoveNode func(ctx context.Context, namespace string, n driver.Node) error

	// RemoveDir removes the directory and all that is in it, as an operator
	// would. What the store remembers for a directory, a counter for example,
	// goes too. Where a namespace is a directory of the store, the suite removes
	// one by the namespace above it and its last segment: then all that the driver
	// keeps in it goes.
	RemoveDir func(ctx context.Context, namespace, dir string) error

	// PlantForeign puts keys into the directory that are not of the driver's
	// making: plain ones, nested ones, ones that nearly look like nodes. For a store
	// that refuses every such key it is NoForeign.
	PlantForeign func(ctx context.Context, namespace, dir string) error

	// NearWrap brings the store's counter that Seq is made from to a few
	// creations before its wrap, for a directory that may not exist yet. For
	// a store that counts in 64 bits it is WideCounter.
	NearWrap func(ctx context.Context, namespace, dir string) error

	// Compact makes the store forget the history of everything up to now, as a
	// compaction does. For a store that keeps no history it is NoHistory.
	Compact func(ctx context.Context, namespace string) error

	// Residue counts what the store holds in the namespace.
	Residue func(ctx context.Context, namespace string) (Residue, error)

	// BadTTL holds times to live that the store cannot grant, in addition to
	// zero and negative ones, which none can. Empty, not nil, says that there
	// are none.
	BadTTL []time.Duration
}

// WideCounter is the NearWrap of a store whose counter has 64 bits: there is
// no wrap to come near to.
func WideCounter(context.Context, string, string) error { return nil }

// NoHistory is the Compact of a store that knows the present only.
func NoHistory(context.Context, string) error { return nil }

// NoForeign is the PlantForeign of a store that can hold nothing but nodes in a
// directory, as a database whose constraints refuse any other row.
func NoForeign(context.Context, string, string) error { return nil }

// Residue is what a store holds, counted in the store itself. A count that the
// store cannot give is Unknown.
type Residue struct {
	Keys     int // nodes, foreign ones too, and what the driver keeps beside them
	Dirs     int // directories that exist as such, also empty ones; 0 where a store has none
	Sessions int
	Watches  int // on the store's side
	Conns    int // connections of clients
}

// Unknown is a count that the store cannot give.
const Unknown = -1

// Link is a network that fails on command. netfault.Control is one, and with
// it netfault.Proxy and netfault.Group: see there for what each verb does.
// Faults are in force when the verb returns, add up, and end with Heal.
type Link interface {
	// Freeze holds what goes in direction d; Heal delivers it, late.
	Freeze(d netfault.Direction)
	// Delay delivers what goes in direction d later by delay.
	Delay(d netfault.Direction, delay time.Duration)
	// DropReplies lets requests through and loses the replies.
	DropReplies()
	// DropConnections resets every live connection; new ones work.
	DropConnections()
	// Cut resets every live connection and refuses new ones.
	Cut()
	// Heal ends every fault.
	Heal() error
}

var _ Link = (*netfault.Control)(nil)

// Complete returns h with its defaults filled in. What is missing or wrong is an
// error that Is driver.ErrInvalid.
func (h Harness) Complete() (Harness, error) {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: conformance: "+format, append([]any{driver.ErrInvalid}, args...)...))
	}
	if h.Name == "" {
		bad("the harness has no Name")
	}
	if h.Open == nil {
		bad("the harness has no Open")
	}
	if h.TTL <= 0 {
		bad("the harness's TTL is %v; want a positive time that the store grants", h.TTL)
	}
	if h.Expiry == 0 {
		h.Expiry = 3*h.TTL + 5*time.Second
	}
	if h.Timeout == 0 {
		h.Timeout = 30*time.Second + 5*(h.TTL+h.Expiry)
	}
	return h, errors.Join(errs...)
}
