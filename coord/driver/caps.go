package driver

import (
	"context"
	"fmt"
	"iter"
	"strings"
)

// CreateLister is an optional interface of a Session: Create and List in one
// round trip. The list is as of the creation or later and contains the node
// (F1). Errors and idempotence are those of Create.
//
// If an operator removes the node before it is listed, the driver makes another
// one, or returns an error that Is ErrUncertain, and the caller calls again.
type CreateLister interface {
	CreateList(ctx context.Context, dir, id string, data []byte) (Node, []Node, error)
}

// NameLister is an optional interface of a Session, for stores whose listings
// hold names, and where the data of each node is one more request: CreateNames
// and ListNames give what CreateList and List give, but may leave out the Data of
// nodes (F4). Most recipes look at nothing else while they wait. A key that only
// looks like a node may be listed until somebody has waited for its deletion:
// such a wait returns at once.
type NameLister interface {
	CreateNames(ctx context.Context, dir, id string, data []byte) (Node, []Node, error)
	ListNames(ctx context.Context, dir string) ([]Node, error)
}

// AnyWaiter is an optional interface of a Session: it waits, as WaitDelete
// does for one node, until any of several nodes of one directory is gone, and
// returns the index of one that is (F2). It makes waiting for many nodes cost one
// goroutine. To wait for no nodes is an error that Is ErrInvalid.
//
// With CapWaitFirst it is, of those that were deleted together, as by removing
// the directory, the first: then whoever waits for its own node and another's,
// its own first, is not misled when somebody empties the directory. Where a
// store tells of each node in a message of its own, to be certain of that takes
// a request after the last, and it is better to be misled for a moment.
type AnyWaiter interface {
	WaitAny(ctx context.Context, nodes []Node) (int, error)
}

// FirstTeller is an optional interface of a Session, for stores where the list of
// a long line costs much more than a look at its beginning.
type FirstTeller interface {
	// First reports whether n is there and no node of its directory is ahead of
	// it (F5): what is ahead of a node can only become less, so that stays so until
	// n is gone. It is not behind what the session was told before: by calls that
	// were acknowledged, and by waits. False may also mean that it is not certain,
	// for a moment or because of what else is there; a list tells.
	First(ctx context.Context, n Node) (bool, error)
}

// Watcher is an optional interface of a Conn: it shows a directory as it
// changes, for observers that have no session.
type Watcher interface {
	// Watch yields the nodes of dir as Conn.List would return them, at once
	// and again after every change: a node was created, updated or is gone,
	// whoever did it (V1). Changes in quick succession, or while the consumer
	// is busy, may be shown as one; the state that lasts is always shown. A
	// state is never older than one shown before (V2). The consumer must not
	// change the slice or what it holds.
	//
	// While the store cannot be reached nothing is shown, and the watch goes
	// on by itself once it can (V3). The sequence ends when the consumer stops,
	// or with one error, whose nodes are nil, that says why: it Is ctx's error
	// when ctx ends, ErrClosed when the Conn is closed, and otherwise what the
	// store refuses for good, as ErrDenied (V4). Nothing happens before the
	// sequence is ranged over, and when the loop is left nothing stays behind
	// but what is shared and bounded (V5).
	Watch(ctx context.Context, dir string) iter.Seq2[[]Node, error]
}

// Caps is a set of capabilities.
type Caps uint

const (
	// CapCreateList: sessions implement CreateLister.
	CapCreateList Caps = 1 << iota
	// CapWaitAny: sessions implement AnyWaiter.
	CapWaitAny
	// CapListNames: sessions implement NameLister.
	CapListNames
	// CapCheapList: a List costs next to nothing, however many nodes there are.
	CapCheapList
	// CapWaitFirst: of nodes deleted together WaitAny returns the first.
	CapWaitFirst
	// CapWaitBoth: WaitAny for one's own node and another's costs the store no more
	// than WaitDelete for the other's.
	CapWaitBoth
	// CapWaitAhead: a look at the line on the way from a release to the next grant
	// takes long, because it is answered after what others have just begun to write.
	// So in a line that moves fast it pays to wait, by one WaitAny, for the one ahead
	// and for the one ahead of that, and to look at the line as soon as the latter is
	// gone.
	CapWaitAhead
	// CapFirst: sessions implement FirstTeller.
	CapFirst
	// CapWatch: the connection implements Watcher.
	CapWatch
	// CapShared: other processes see the same store. A program that must not
	// be configured with an embedded store by mistake requires it.
	CapShared
	// CapDurable: tokens keep rising over a restart of the store.
	CapDurable
)

var capNames = []struct {
	cap  Caps
	name string
}{
	{CapCreateList, "create-list"},
	{CapWaitAny, "wait-any"},
	{CapListNames, "list-names"},
	{CapCheapList, "cheap-list"},
	{CapWaitFirst, "wait-first"},
	{CapWaitBoth, "wait-both"},
	{CapWaitAhead, "wait-ahead"},
	{CapFirst, "first"},
	{CapWatch, "watch"},
	{CapShared, "shared"},
	{CapDurable, "durable"},
}

// Has reports whether c contains all of want.
func (c Caps) Has(want Caps) bool { return c&want == want }

// String lists the names, separated by commas, in a fixed order.
func (c Caps) String() string {
	var names []string
	for _, n := range capNames {
		if c.Has(n.cap) {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ",")
}

// ParseCaps is the reverse of String. Spaces around names are ignored; an
// unknown name is an error that lists the known ones.
func ParseCaps(s string) (Caps, error) {
	var c Caps
next:
	for name := range strings.SplitSeq(s, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		for _, n := range capNames {
			if n.name == name {
				c |= n.cap
				continue next
			}
		}
		return 0, fmt.Errorf("%w: unknown capability %q; known are %s", ErrInvalid, name, ^Caps(0))
	}
	return c, nil
}

// MarshalText makes a Caps readable in configuration files.
func (c Caps) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (c *Caps) UnmarshalText(text []byte) (err error) {
	*c, err = ParseCaps(string(text))
	return err
}

// As finds the optional interface T on a Conn or Session, or on what it wraps:
// a wrapper makes what it wraps reachable with a method Unwrap() any. The
// first that implements T wins, as with errors.As, so a wrapper that wants to
// see the calls of a fast path implements it.
func As[T any](v any) (T, bool) {
	for {
		if t, ok := v.(T); ok {
			return t, true
		}
		w, ok := v.(interface{ Unwrap() any })
		if !ok {
			var zero T
			return zero, false
		}
		v = w.Unwrap()
	}
}
