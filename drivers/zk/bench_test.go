package zk

import (
	"context"
	"fmt"
	"sync"
	"testing"

	gozk "github.com/go-zookeeper/zk"
	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord/driver"
)

func benchSession(b *testing.B, ns string) *session {
	b.Helper()
	c := newConn(space("/"+ns), peersOf(newTap(), endpoints(single.Get(b))), gozk.WorldACL(gozk.PermAll), zap.NewNop())
	b.Cleanup(func() { _ = c.Close() })
	s, err := c.OpenSession(within(b), long)
	must(b, err)
	return s.(*session)
}

// BenchmarkFloor is a lock that nobody else wants, written by hand on the
// library with the fewest requests one after the other.
func BenchmarkFloor(b *testing.B) {
	c := newAdmin(b, endpoints(single.Get(b)))
	acl := gozk.WorldACL(gozk.PermAll)
	dir := "/floor" + namespaceOf(b)[len("test/"):]
	_, err := c.Create(dir, nil, 0, acl)
	must(b, err)
	for b.Loop() {
		path, err := c.Create(dir+"/n-", nil, gozk.FlagEphemeralSequential, acl)
		must(b, err)
		_, _, err = c.Children(dir)
		must(b, err)
		must(b, c.Delete(path, -1))
	}
}

// BenchmarkAcquire is the same with the driver: join the line, leave it.
func BenchmarkAcquire(b *testing.B) {
	s := benchSession(b, namespaceOf(b))
	for b.Loop() {
		n, _, err := s.CreateList(b.Context(), "lock", "0", nil)
		must(b, err)
		must(b, s.Delete(b.Context(), n))
	}
}

// turn takes a place in line, waits until it is the first, and leaves.
func turn(ctx context.Context, s *session) error {
	n, all, err := s.CreateList(ctx, "lock", "0", nil)
	for err == nil && !all[0].Same(n) {
		for i := len(all) - 1; i > 0; i-- {
			if all[i].Same(n) {
				_, err = s.WaitAny(ctx, []driver.Node{n, all[i-1]})
			}
		}
		if err == nil {
			all, err = s.List(ctx, "lock")
		}
	}
	if err != nil {
		return err
	}
	return s.Delete(ctx, n)
}

// BenchmarkContended is one lock that several programs want all the time. An
// operation is one turn.
func BenchmarkContended(b *testing.B) {
	for _, programs := range []int{2, 8, 32} {
		b.Run(fmt.Sprint(programs), func(b *testing.B) {
			ns := namespaceOf(b)
			turns := make(chan struct{})
			var taking sync.WaitGroup
			ctx := b.Context()
			for range programs {
				s := benchSession(b, ns)
				taking.Go(func() {
					for range turns {
						if err := turn(ctx, s); err != nil {
							b.Error(err)
						}
					}
				})
			}
			for b.Loop() {
				turns <- struct{}{}
			}
			close(turns)
			taking.Wait()
		})
	}
}

// BenchmarkDeletionToWait is the time from a deletion to the end of another
// program's wait for it, with the creation of the node.
func BenchmarkDeletionToWait(b *testing.B) {
	ns := namespaceOf(b)
	s, owner := benchSession(b, ns), benchSession(b, ns)
	for b.Loop() {
		n, err := owner.Create(b.Context(), "d", "0", nil)
		must(b, err)
		done := waiting(b.Context(), s, n)
		must(b, owner.Delete(b.Context(), n))
		must(b, <-done)
	}
}
