package driver

import (
	"context"
	"fmt"
	"strings"
)

// CreateLister is an optional interface of a Session: Create and List in one
// round trip. The list is as of the creation or later and contains the node
// (F1). Errors and idempotence are those of Create.
type CreateLister interface {
	CreateList(ctx context.Context, dir, id string, data []byte) (Node, []Node, error)
}

// AnyWaiter is an optional interface of a Session: it waits, as WaitDelete
// does for one node, until any of several nodes of one directory is gone, and
// returns the index of one that is (F2): of those that were deleted together,
// as by removing the directory, the first. So whoever waits for its own node
// and another's, its own first, is not misled when somebody empties the
// directory. It also makes waiting for many nodes cost one goroutine.
type AnyWaiter interface {
	WaitAny(ctx context.Context, nodes []Node) (int, error)
}

// Caps is a set of capabilities.
type Caps uint

const (
	// CapCreateList: sessions implement CreateLister.
	CapCreateList Caps = 1 << iota
	// CapWaitAny: sessions implement AnyWaiter.
	CapWaitAny
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
