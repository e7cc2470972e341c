package conformance_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// slowLister lists the directory some time after it has made the node, as a driver does
// that needs two requests. A node that is gone by then is one of unknown outcome.
type slowLister struct{ driver.Session }

// Unwrap makes the other optional interfaces reachable.
func (s slowLister) Unwrap() any { return s.Session }

func (s slowLister) CreateList(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
	n, err := s.Create(ctx, dir, id, data)
	if err != nil {
		return n, nil, err
	}
	for range 20 {
		time.Sleep(s.TTL() / 200)
		line, err := s.List(ctx, dir)
		if err != nil {
			return n, nil, err
		}
		if !slices.ContainsFunc(line, n.Same) {
			return driver.Node{}, nil, &driver.Error{Op: "create", Kind: driver.ErrUncertain, Err: errors.New("it is not there any more")}
		}
	}
	line, err := s.List(ctx, dir)
	return n, line, err
}

// Whose entry was removed before it could look at the line makes another one, and is
// rightly granted.
func TestRemovalBetweenCreationAndList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := onSessions(memHarness(time.Second), func(s driver.Session) driver.Session { return slowLister{s} })
		for _, r := range check(t, h, pick(t, "M13", "R18", "P20", "K13")...).Results {
			if r.Status != conformance.Passed {
				t.Errorf("%s %v: %s", r.Rule.ID, r.Status, r.Detail)
			}
		}
	})
}
