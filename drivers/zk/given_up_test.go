package zk

import (
	"context"
	"reflect"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
)

// stalled makes a call that changes something below the namespace, has the
// connection stand still before its request, and gives the call up. release lets
// it go on.
func (f *fixture) stalled(do func(ctx context.Context) error) (release func()) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(within(f.t))
	arrived, resume := make(chan struct{}), make(chan struct{})
	f.tap.intercept(func(_ *tapped, op int32, _ []byte) bool {
		if !writes[op] {
			return false
		}
		f.tap.intercept(nil)
		close(arrived)
		<-resume
		return false
	})
	done := make(chan error, 1)
	go func() { done <- do(ctx) }()
	receive(f.t, "the request", arrived)
	cancel()
	wantIs(f.t, receive(f.t, "the call", done), context.Canceled, driver.ErrUncertain)
	return func() { close(resume) }
}

// Whoever gives an Update up may use its data for something else, though the
// request is still to be written.
func TestDataOfAnUpdateGivenUp(t *testing.T) {
	f := start(t)
	s := f.open(long)
	n := f.create(s, "d", "0")
	first := f.create(s, "d", "1")
	release := f.stalled(func(ctx context.Context) error {
		_, err := s.Update(ctx, first, nil) // what the other Update has to wait for
		return err
	})
	ctx, cancel := context.WithCancel(within(t))
	data := []byte("given up")
	done := make(chan error, 1)
	go func() {
		_, err := s.Update(ctx, n, data)
		done <- err
	}()
	eventually(t, "the Update waits to be sent", func() bool {
		return reflect.ValueOf(s.link.zk).Elem().FieldByName("sendChan").Len() == 1
	})
	cancel()
	receive(t, "the Update", done)
	copy(data, "recycled")
	release()
	nodes, err := s.List(within(t), "d")
	must(t, err)
	if got := (show{nodes, nil}).text(); got != "[given up ]" {
		t.Errorf("listed %s", got)
	}
}

// A Create after an Abandon, or a Delete, of unknown outcome does not return the
// node that the request, which may arrive yet, removes.
func TestCreateAfterARemovalOfUnknownOutcome(t *testing.T) {
	for name, remove := range map[string]func(ctx context.Context, s *session, n driver.Node) error{
		"Abandon": func(ctx context.Context, s *session, n driver.Node) error { return s.Abandon(ctx, "d", "0") },
		"Delete":  func(ctx context.Context, s *session, n driver.Node) error { return s.Delete(ctx, n) },
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			s := f.open(long)
			f.create(s, "d", "bystander")
			n := f.create(s, "d", "0")
			release := f.abort(func(ctx context.Context) error { return remove(ctx, s, n) })
			next := f.create(s, "d", "0")
			if next.Key == n.Key {
				t.Errorf("Create returned %s, which a request on its way removes", n.Key)
			}
			release()
			f.wantNames("d", 2)
		})
	}
}

// Names of locks are without number, so nothing is kept of what came to nothing.
func TestNothingIsKeptOfEmptySlots(t *testing.T) {
	f := start(t)
	s := f.open(long)
	must(t, s.Abandon(within(t), "d", "0"))
	release := f.abort(func(ctx context.Context) error {
		_, err := s.Create(ctx, "d", "0", nil)
		return err
	})
	must(t, s.Abandon(within(t), "d", "0"))
	release()
	if n := len(s.slots); n != 0 {
		t.Errorf("%d slots are kept: %+v", n, s.slots)
	}
}
