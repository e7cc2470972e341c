package soak

import (
	"context"
	"slices"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// Recipe is something that the clients want.
type Recipe struct {
	// Name names the recipe and what is acquired.
	Name string

	// Dir is the directory of its line.
	Dir string

	// Limit is how many permits there are, if it has such.
	Limit int

	// Wants are the ways to want it, of which clients choose.
	Wants []Want

	// Stays reports whether a node of the line is there for as long as its
	// session, whoever comes and goes. nil: there are no such nodes.
	Stays func(driver.Node) bool

	// Contenders lists its line.
	Contenders func(ctx context.Context, c *coord.Client) (coord.Contenders, error)

	// Follow shows f who leads, until ctx ends or f says that it has seen
	// enough, where there are leaders. Else it is nil.
	Follow func(ctx context.Context, c *coord.Client, f func(token uint64, value string) bool) error
}

// Want is a way to acquire.
type Want struct {
	Kind    history.Kind
	Permits int // with history.Permits

	// Acquire waits for a hold, and Try does not wait: its error then Is
	// coord.ErrBusy.
	Acquire, Try func(ctx context.Context, c *coord.Client, op *history.Op) (Hold, error)

	// Use does what a holder may do meanwhile, if it is not nil. It may return
	// another hold that takes the place of the first, and otherwise returns nil;
	// the error says what it should not have seen, which counts only while the
	// hold does, ctx lives, and no operator has had a hand in it.
	Use func(ctx context.Context, hold Hold, op *history.Op) (Hold, error)
}

// Hold is what was acquired: coord's Hold with a way to end it.
type Hold interface {
	history.Hold

	Session() *coord.Session

	// Err says why the hold is over, or is nil.
	Err() error

	// Release ends it.
	Release(ctx context.Context) error
}

// lineName is the name of every recipe. It is an odd one, so that it is encoded.
const lineName = "a soak_test"

// Recipes returns all recipes.
func Recipes() []Recipe {
	return []Recipe{mutexRecipe(), rwlockRecipe(), semaphoreRecipe(), resizedRecipe(), electionRecipe()}
}

// lineDir is the directory of a recipe's line.
func lineDir(kind, name string) string {
	dir, err := coord.Dir(kind, name)
	if err != nil { // of constants
		panic(err)
	}
	return dir
}

// contending is what does not stay in a line.
func (r Recipe) contending(line []driver.Node) []driver.Node {
	if r.Stays == nil {
		return line
	}
	return slices.DeleteFunc(slices.Clone(line), r.Stays)
}
