package driver

import (
	"context"
	"fmt"
	"iter"
	"strings"
)

// CreateLister is an optional interface of a Session: Create and List in one call. Leave
// it out at first. It saves a round trip for each lock.
//
// CreateList returns the node, with its Data, and a list of its directory, as of the
// creation or later, that contains the node (F1). If the session also is a NameLister, the
// Data of the nodes in the list may be missing. Errors and idempotence are those of
// Create. Version may be zero.
//
// If an operator removes the node between the creation and the list, CreateList makes
// another one, or returns an error that Is ErrUncertain, and the caller calls again. Create
// does the same if it looks at the node after making it.
type CreateLister interface {
	CreateList(ctx context.Context, dir, id string, data []byte) (Node, []Node, error)
}

// NameLister is an optional interface of a Session. Leave it out at first. Most recipes look
// at names and order only, and a waiter only at what is ahead of it. So ListNames saves a
// request for each node where listings hold names alone, and elsewhere most of a long answer.
//
// ListNames returns what List returns, but may leave out the Data of nodes, and the nodes
// whose Seq is above last (F4); Version may be zero. A key that only looks like a node may be
// listed until a session has waited for its deletion: such a wait returns at once.
type NameLister interface {
	ListNames(ctx context.Context, dir string, last uint64) ([]Node, error)
}

// AnyWaiter is an optional interface of a Session: it waits, as WaitDelete does for one
// node, until any of several nodes of one directory is gone, and returns the index of
// one that is (F2). Leave it out at first. It makes waiting for several nodes cost one
// goroutine and, where the store can, one watch request. A waiter learns that it is
// next before its turn, which saves a round trip for each contended lock.
//
// Of several nodes that are deleted together WaitAny may return any. An empty slice is an
// error that Is ErrInvalid. The caller may change the slice when the call has returned.
type AnyWaiter interface {
	WaitAny(ctx context.Context, nodes []Node) (int, error)
}

// Watcher is an optional interface of a Conn: it shows a directory as it changes, for
// observers that have no session. Leave it out at first: without it coord lists a
// directory that is watched every second. It is worth these requests, and a change shows
// at once.
type Watcher interface {
	// Watch yields the nodes of dir as Conn.List would return them, at once and again
	// after every change: a node was created, updated or is gone, by any client or
	// operator (V1). Changes in quick succession, or while the consumer is busy, may be
	// shown as one; the state that lasts is always shown. A state is never older than
	// one shown before (V2). A busy consumer keeps no other watch, wait, call or
	// session of the connection waiting. The consumer must not change the slice or what
	// it holds.
	//
	// While the store cannot be reached nothing is shown, and the watch goes on by
	// itself once it can (V3). The sequence ends when the consumer stops, or with one
	// error, whose nodes are nil. The error Is ctx's error when ctx ends, ErrClosed
	// when the Conn is closed, and otherwise what the store refuses for good, as
	// ErrDenied (V4). Nothing happens before the sequence is ranged over, and when the
	// loop is left nothing stays behind but what is shared and bounded (V5). The
	// sequence can be ranged over more than once, and each loop is a watch of its own.
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
