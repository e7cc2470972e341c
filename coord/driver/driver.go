package driver

import (
	"context"
	"time"
)

// MaxData is the most bytes of data a node carries, on every store. The limit is one
// everywhere so that a program that works on one store works on all. It is what fits,
// with Base64 and headers counted in and several to a message, into the smallest
// message limit of the stores (ZooKeeper's 1 MiB, Consul's 512 KiB a transaction).
const MaxData = 48 << 10

// Conn is a connection to one namespace of a store. Every directory it is
// given lies inside that namespace, and what it keeps for itself does too.
//
// All methods are safe for concurrent use. A program has one Conn per store
// and namespace and opens as many sessions on it as it needs.
type Conn interface {
	// OpenSession opens a session whose lease the store keeps for ttl after
	// the last renewal, and starts renewing it. ctx bounds the opening only
	// (B2). A ttl that the store cannot grant is an error that Is ErrInvalid
	// and names the range (S7). After an error no session is left in the
	// store for longer than ttl (S9). If the store does not answer, the error
	// Is ErrUncertain or ErrUnavailable, after 20 seconds or a TTL at the most
	// (E3).
	OpenSession(ctx context.Context, ttl time.Duration) (Session, error)

	// List returns the nodes of dir in the order of Seq, for observers that have no
	// session. It contains every node whose Create was acknowledged to any client
	// before List was called and that is not gone (L5). See Session.List for the rest.
	// If the store does not answer, the error Is ErrUncertain or ErrUnavailable, after
	// 20 seconds at the most (E3). The caller must not change the slice or what it
	// holds.
	List(ctx context.Context, dir string) ([]Node, error)

	// Caps says which optional interfaces the connection and its sessions
	// implement and what the store gives. It is constant.
	Caps() Caps

	// Close closes the sessions that are still open and releases every
	// goroutine, watch and connection (N1). It returns within a second also
	// when the store cannot be reached, which then ends the sessions by their
	// TTL, and ends the calls under way. It is idempotent, and calls made
	// later return ErrClosed. Other connections of the program go on, whatever
	// they share with this one.
	Close() error
}

// Session is a lease with the nodes bound to it. All methods are safe for
// concurrent use, except that the caller makes no two calls at a time of
// Create and Abandon for the same directory and id.
//
// Once the session has ended, every method but Close returns at once with an
// error that Is ErrSessionLost, or ErrClosed after Close. Update and Delete are
// for the session's own nodes.
//
// A driver copies the data that it is given: the caller may write to the slice as
// soon as the call has returned. What a call has returned never changes (C8).
type Session interface {
	// ID names the session in the store, unique over the store's life.
	ID() string

	// TTL is the lease time as the store granted it (S7). The nodes of a
	// client that falls silent vanish no earlier than TTL after the last
	// renewal that the client sent and saw acknowledged.
	TTL() time.Duration

	// Done is closed when the session ends: at Close, when the store says that it is
	// over, and at the latest when a local monotonic clock can no longer prove the
	// lease. An end of the store's own making cannot be told before (S4). The clock
	// counts from the sending of the last acknowledged renewal, less a margin of a
	// fiftieth of the TTL or more (S1). It is never reopened (S2).
	Done() <-chan struct{}

	// Err is nil while the lease can be proved, and afterwards says why the
	// session ended: it Is ErrSessionLost or ErrClosed. Err asks the clock,
	// not only Done, so that a process that was paused learns of its loss
	// from the first call, before any timer has run.
	Err() error

	// Create makes the node (dir, id) of this session with data, or returns
	// it as it is if it already exists: calling again after a lost reply
	// yields the same node and never a second one (C2). Once a Create of the
	// slot was acknowledged, no earlier request makes a node any more, also
	// after a Delete. The node vanishes with the session. Data longer than
	// MaxData is refused with ErrInvalid; nil and empty data are the same.
	//
	// After an error that is not ErrUnavailable, ErrInvalid or ErrDenied, and after
	// one that Is ErrUncertain, the node may exist or appear later. The caller calls
	// Create again, or Abandon.
	Create(ctx context.Context, dir, id string, data []byte) (Node, error)

	// Abandon gives up every earlier Create of (dir, id) by this session:
	// once it has returned nil, such a node does not exist and no delayed
	// request of an earlier Create makes one (C4). It does not touch a node
	// that a later Create made or returned, however late its request arrives.
	// Deleting alone would not do: a request still on its way could recreate
	// what was deleted.
	Abandon(ctx context.Context, dir, id string) error

	// List returns the nodes of dir in the order of Seq (L1), without keys
	// that are not of this contract's making (L2). It contains at least this
	// session's own acknowledged writes and what preceded them in the line
	// (L3); it may be behind in nothing else than nodes created or deleted
	// after those. A missing directory is empty (L4). The caller must not
	// change the slice or what it holds.
	List(ctx context.Context, dir string) ([]Node, error)

	// WaitDelete returns nil once that very node, and not a later one of the
	// same name, is gone: at once if it already is (W1 to W3). It returns an
	// error that Is ErrSessionLost within a second of the session's end (W4),
	// and ctx's error when ctx ends. A watch that breaks is healed inside or
	// reported as an error; it is never nil and never a hang (W5).
	WaitDelete(ctx context.Context, n Node) error

	// Update replaces the data of that very node (U1). If the node is gone,
	// also when another of the same name stands in its place, nothing
	// changes and the error Is ErrGone (U2). It returns the node with the new
	// data; Key, Seq and Token stay. Data longer than MaxData is refused with
	// ErrInvalid. An Update that was given up does not undo a later one: once
	// that was acknowledged, no earlier request changes the data any more,
	// however late it arrives (U5).
	Update(ctx context.Context, n Node, data []byte) (Node, error)

	// Delete removes that very node. A node that is gone is success, also
	// when another of the same name stands in its place, which is not touched
	// (U2, U3). A delayed request of an earlier Delete does not touch it
	// either.
	Delete(ctx context.Context, n Node) error

	// Close ends the session and removes its nodes from the store at once
	// (S5). On a link that works it takes less than a second. Done is closed
	// before the store is asked. It is idempotent: nil says that the session is
	// gone. When ctx ends first, or the store cannot be reached, the error says
	// so and the store removes the nodes when the TTL has passed. Close may be
	// called again then, and asks the store again. Close of a lost session asks
	// the store too, which may still have it.
	Close(ctx context.Context) error
}

// Node is an ephemeral, ordered entry of a directory.
type Node struct {
	// Dir and ID are what Create was given.
	Dir, ID string

	// Key is the node's name in the store, for logs and operators.
	Key string

	// Session is the ID of the session the node is bound to.
	Session string

	// Seq orders the nodes of one directory: a node whose Create began after
	// another's was acknowledged has the greater Seq (O1).
	Seq uint64

	// Token is the fencing token. Among all nodes that one directory ever
	// has, also after it was empty or removed and made again, a later node
	// has the greater Token (O2). Together with Key it identifies a node.
	Token uint64

	// Version belongs to the driver: typically the point in the store's
	// history at which the node was seen, from where a watch can start. A
	// driver that has no use for it leaves it zero.
	Version uint64

	// Data is what Create or the last Update stored. Once a node was returned
	// neither the driver nor the caller changes the bytes.
	Data []byte
}

// Same reports whether n and m are the same node, and not one a namesake of
// the other. Data and Version may differ.
func (n Node) Same(m Node) bool { return n.Key == m.Key && n.Token == m.Token }
