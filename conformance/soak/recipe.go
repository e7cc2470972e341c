package soak

import (
	"context"
	"slices"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// Recipe is something that programs use. Its functions are called concurrently.
// Those that may be nil are for what the recipe does not have.
type Recipe struct {
	// Name names the recipe and what is acquired.
	Name string

	// Kind is whose promises it makes, as "mutex"; empty is nobody's.
	Kind string

	// Dir is the directory of its line.
	Dir string

	// Limits are how many permits there may be, the first at first, if it has such.
	Limits []int

	// Wants are the ways to want it, of which programs choose.
	Wants []Want

	// Stays reports whether a node of the line is there for as long as its session,
	// whichever clients come and go. It may be nil.
	Stays func(driver.Node) bool

	// Misuses are calls that fail with an error that Is coord.ErrInvalid.
	Misuses []Misuse

	// Contenders lists its line. It may be nil.
	Contenders func(ctx context.Context, u User) (coord.Contenders, error)

	// Revoke asks the holder of a token to let go. It may be nil.
	Revoke func(ctx context.Context, u User, token uint64, reason string) error

	// SetLimit changes how many permits there are. It may be nil.
	SetLimit func(ctx context.Context, u User, limit int) error

	// Leader says who leads; the error is Is election.ErrNoLeader if nobody does. It
	// may be nil.
	Leader func(ctx context.Context, u User) (coord.Contender, error)

	// Run leads again and again, as election.Run does. It may be nil.
	Run func(ctx context.Context, u User, value string, term func(ctx context.Context, h Hold) error) error

	// Follow shows f who leads, until ctx ends or f says that it has seen enough. It
	// may be nil.
	Follow func(ctx context.Context, u User, f func(token uint64, value string) bool) error
}

// Misuse is a call with an argument that is wrong, which fails at once.
type Misuse func(ctx context.Context, u User) error

// Want is a way to acquire.
type Want struct {
	Kind    history.Kind
	Permits int // with history.Permits

	// Acquire waits for a hold, and Try does not wait: its error then Is
	// coord.ErrBusy.
	Acquire, Try func(ctx context.Context, u User, op *history.Op) (Hold, error)

	// Do runs fn under a hold. It may be nil.
	Do func(ctx context.Context, u User, op *history.Op, fn func(ctx context.Context, token uint64) error) error

	// Enter are the ways to enter again, under a hold's context, what was acquired.
	Enter []Entry

	// Refused are the ways to acquire that fail under a hold's context, with an error
	// that Is Refusal.
	Refused []Entry
	Refusal error

	// Downgrade makes another hold of one of the same Kind as the Want, which is then as if it had been wanted
	// like Downgraded. It may be nil.
	Downgrade  func(ctx context.Context, u User, hold Hold) (Hold, error)
	Downgraded *Want
}

// Entry is a way to acquire under a hold's context.
type Entry struct {
	Kind history.Kind // of the hold that it gives
	By   func(ctx context.Context, u User) (Hold, error)
}

// Hold is what was acquired: coord's Hold with a way to end it. Those of leaders
// have a method Proclaim as well.
type Hold interface {
	history.Hold

	Session() *coord.Session

	// Err says why the hold is over, or is nil.
	Err() error

	// Release ends it.
	Release(ctx context.Context) error

	// Revoked waits until somebody asks to let go.
	Revoked(ctx context.Context) (coord.Revocation, error)
}

// proclaimer is a leader's hold.
type proclaimer interface {
	Proclaim(ctx context.Context, value []byte) error
}

// User is who uses a recipe: a client, with a session of its own if it has one.
type User struct {
	*coord.Client
	Own *coord.Session // nil: the one that the client shares
}

// options are what recipes are made with for the user.
func (u User) options() (opts []coord.RecipeOption) {
	if u.Own != nil {
		opts = append(opts, coord.WithSession(u.Own))
	}
	return opts
}

// contending is what does not stay in a line.
func (r Recipe) contending(line []driver.Node) []driver.Node {
	if r.Stays == nil {
		return line
	}
	return slices.DeleteFunc(slices.Clone(line), r.Stays)
}

// limit is the greatest number of permits that there may be, and least the smallest.
func (r Recipe) limit() (limit, least int) {
	if len(r.Limits) == 0 {
		return 0, 0
	}
	return slices.Max(r.Limits), slices.Min(r.Limits)
}
