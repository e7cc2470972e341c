package consul

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// Whatever is under way, Close leaves nothing, and everything ends.
func TestCloseAtAnyPoint(t *testing.T) {
	consul := single.Get(t)
	for round := range 10 {
		f := startOn(t, consul)
		ctx := within(t)
		var busy sync.WaitGroup
		calls := make(chan struct{}, 1000)
		again := func(do func() error) {
			busy.Go(func() {
				for {
					err := do()
					if errors.Is(err, driver.ErrClosed) {
						return
					}
					if err != nil && ctx.Err() != nil {
						t.Errorf("a call did not end: %v", err)
						return
					}
					select {
					case calls <- struct{}{}:
					default:
					}
				}
			})
		}
		for i := range 3 {
			dir := fmt.Sprint("d", i%2)
			s := f.open(time.Hour)
			again(func() error {
				n, _, err := s.CreateList(ctx, dir, "0", nil)
				if err != nil {
					return err
				}
				if n, err = s.Update(ctx, n, []byte("new")); err != nil {
					return err
				}
				return s.Delete(ctx, n)
			})
			again(func() error {
				if _, err := s.Create(ctx, dir, "1", nil); err != nil {
					return err
				}
				return s.Abandon(ctx, dir, "1")
			})
			again(func() error {
				nodes, err := f.List(ctx, dir)
				if err != nil || len(nodes) == 0 {
					return err
				}
				return s.WaitDelete(ctx, nodes[0])
			})
			again(func() error {
				for _, err := range f.Watch(ctx, dir) {
					if err != nil {
						return err
					}
				}
				return nil
			})
		}
		for range 10 * round { // a different moment each time
			receive(t, "a call", calls)
		}
		must(t, f.conn.Close())
		busy.Wait()
		must(t, ctx.Err())
		if n := len(f.sessionsIn()); n > 0 {
			t.Errorf("round %d: %d sessions are left", round, n)
		}
		f.wantKeys("d0", 0)
		f.wantKeys("d1", 0)
		f.wantKeys(".fence", 0)
	}
}
