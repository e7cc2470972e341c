package random

import (
	"context"
	"iter"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/model"
	"github.com/coordkit/coordkit/coord/driver"
)

// watch observes a directory until the waits are ended, or its ctx.
func (r *run) watch(s Step) {
	f, ok := driver.As[driver.Watcher](r.conns[s.Conn].conn)
	if !ok {
		return
	}
	ctx, cancel := r.bound(s)
	defer cancel()
	dir := r.dir(s)
	c := r.begin(s, func(c *model.Call) { c.Dir = dir })
	_, last := r.caught(c, func() (answer, error) { return answer{}, r.loop(ctx, c, f.Watch(ctx, dir), s.Pause) })
	r.end(c, ctx, answer{}, last)
}

// loop ranges over what a watch shows, and returns its error.
func (r *run) loop(ctx context.Context, c *model.Call, states iter.Seq2[[]driver.Node, error], pause time.Duration) (last error) {
	for nodes, err := range states {
		if last != nil || err != nil && nodes != nil {
			r.mu.Lock()
			c.Odd = "it yields something beside its error, or after it"
			r.mu.Unlock()
		}
		if err != nil {
			last = err
			continue
		}
		r.shows(c, nodes)
		sleep(ctx, pause)
	}
	return last
}
