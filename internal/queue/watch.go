package queue

import (
	"context"
	"iter"

	"github.com/coordkit/coordkit/coord/driver"
)

// Watch shows the line as it changes, without joining it, as coord.Client.Watch
// says. The caller must not change what it is shown.
func (q *Queue) Watch(ctx context.Context) iter.Seq2[[]driver.Node, error] {
	return func(yield func([]driver.Node, error) bool) {
		if q.err != nil {
			yield(nil, q.fail("watch", q.err))
			return
		}
		for line, err := range q.client.Watch(ctx, q.dir) {
			if err != nil {
				err = q.fail("watch", err)
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}
