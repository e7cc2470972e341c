package sabotage

import (
	"context"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// stale keeps lists for a while.
type stale struct {
	mu   sync.Mutex
	kept map[string]snapshot
}

type snapshot struct {
	nodes []driver.Node
	at    time.Time
}

func newStale() *stale { return &stale{kept: make(map[string]snapshot)} }

// list gives what the directory held a twentieth of a second ago, if it was
// looked at then.
func (st *stale) list(ctx context.Context, dir string, fresh listFunc) ([]driver.Node, error) {
	st.mu.Lock()
	old, ok := st.kept[dir]
	st.mu.Unlock()
	if ok && time.Since(old.at) < 50*time.Millisecond {
		return old.nodes, nil
	}
	nodes, err := fresh(ctx, dir)
	if err == nil {
		st.mu.Lock()
		st.kept[dir] = snapshot{nodes, time.Now()}
		st.mu.Unlock()
	}
	return nodes, err
}

// forget has the next list be a fresh one.
func (st *stale) forget(dir string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(st.kept, dir)
}

// recent gives what renew has got a moment ago, or a fresh list.
func (st *stale) recent(ctx context.Context, dir string, fresh listFunc) ([]driver.Node, error) {
	st.mu.Lock()
	old, ok := st.kept[dir]
	st.mu.Unlock() // not held while the store is asked
	if ok && time.Since(old.at) < 50*time.Millisecond {
		return old.nodes, nil
	}
	return fresh(ctx, dir)
}

// renew gets a fresh list and keeps it.
func (st *stale) renew(ctx context.Context, dir string, fresh listFunc) ([]driver.Node, error) {
	st.forget(dir)
	return st.list(ctx, dir, fresh)
}

// pictures are what a connection believes to know of the directories that it follows. A
// sound watch renews them, which hears of things as late as the link brings them.
type pictures struct {
	conn *conn
	mu   sync.Mutex
	of   map[string]*picture // by directory
}

type picture struct {
	followers int
	nodes     []driver.Node
	known     bool
	end       context.CancelFunc
}

func newPictures(c *conn) *pictures { return &pictures{conn: c, of: make(map[string]*picture)} }

// follow has the picture of a directory renewed until the function returned is called.
func (p *pictures) follow(dir string) (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	it := p.of[dir]
	if it == nil {
		it = new(picture)
		p.of[dir] = it
		var ctx context.Context
		ctx, it.end = context.WithCancel(p.conn.ctx)
		go func() { // ends with the last follower
			for nodes, err := range p.conn.soundWatch(ctx, dir) {
				p.mu.Lock()
				it.nodes, it.known = nodes, err == nil
				p.mu.Unlock()
			}
		}()
	}
	it.followers++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if it.followers--; it.followers == 0 {
			it.end()
			delete(p.of, dir)
		}
	}
}

// list gives the picture of a directory that is followed, and otherwise a fresh list.
func (p *pictures) list(fresh listFunc) listFunc {
	return func(ctx context.Context, dir string) ([]driver.Node, error) {
		p.mu.Lock()
		if it := p.of[dir]; it != nil && it.known && ctx.Err() == nil {
			defer p.mu.Unlock()
			return it.nodes, nil
		}
		p.mu.Unlock()
		return fresh(ctx, dir)
	}
}
