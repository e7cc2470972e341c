package etcd

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
	"github.com/coordkit/coordkit/coord/driver/watch"
)

// waits are those of a connection. They share a feed for each directory.
type waits struct {
	*store
	linger time.Duration // how long the feed of a directory outlives its last wait

	mu    sync.Mutex
	feeds map[string]*feed // by directory
}

func newWaits(s *store) *waits {
	return &waits{store: s, linger: time.Second, feeds: make(map[string]*feed)}
}

// wait is a call.
type wait struct {
	nodes  []driver.Node
	result chan gone // has room for one
}

// gone is the outcome of a wait.
type gone struct {
	index int
	err   error
}

func (c *wait) end(index int, err error) {
	select {
	case c.result <- gone{index, err}:
	default: // it has ended
	}
}

// wait returns the index of one of the nodes that is gone as soon as there is one.
func (w *waits) wait(ctx context.Context, o attempt.Op, nodes []driver.Node) (int, error) {
	if len(nodes) == 0 {
		return 0, o.Failed(driver.ErrInvalid, errors.New("no nodes to wait for"))
	}
	c := &wait{nodes: nodes, result: make(chan gone, 1)}
	f, ok := w.join(c, nodes[0].Dir)
	if !ok {
		return 0, o.Failed(driver.ErrClosed, nil)
	}
	defer w.leave(f, c)
	select {
	case g := <-c.result:
		return g.index, g.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (w *waits) join(c *wait, dir string) (f *feed, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f = w.feeds[dir]; f == nil {
		f = &feed{waits: w, dir: dir, users: make(map[*wait]struct{})}
		var ctx context.Context
		ctx, f.stop = context.WithCancel(w.sessions.Life())
		if !w.sessions.Go(func() { f.run(ctx) }) {
			f.stop()
			return nil, false
		}
		w.feeds[dir] = f
		f.idle = time.AfterFunc(w.linger, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(f.users) == 0 {
				f.remove()
			}
		})
	}
	f.idle.Stop()
	f.users[c] = struct{}{}
	f.tell(c)
	return f, true
}

func (w *waits) leave(f *feed, c *wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(f.users, c); len(f.users) == 0 {
		f.idle.Reset(w.linger)
	}
}

// about calls do with the feed of a directory, if there is one that is open.
func (w *waits) about(dir string, do func(f *feed)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f := w.feeds[dir]; f != nil && f.known.at != 0 {
		do(f)
	}
}

// feed tells of deletions in a directory. It begins with a watch and then a list, so it knows
// of each deletion after the list.
type feed struct {
	*waits
	dir  string
	stop context.CancelFunc

	// The lock of waits guards them.
	known memory
	users map[*wait]struct{}
	idle  *time.Timer
}

// remove ends the feed. The caller holds the lock, as that of tell does.
func (f *feed) remove() {
	f.idle.Stop()
	f.stop()
	if f.feeds[f.dir] == f {
		delete(f.feeds, f.dir)
	}
}

// tell ends a wait if one of its nodes is known to be gone.
func (f *feed) tell(c *wait) {
	for i, n := range c.nodes {
		if f.known.isGone(n) {
			c.end(i, nil)
			return
		}
	}
}

// run keeps the feed open until it is not used any more, or the server refuses for good.
func (f *feed) run(ctx context.Context) {
	err := watch.Follow(f.follow).Heal(ctx, f.dir, func(watch.List) {})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remove()
	for c := range f.users {
		c.end(0, err)
	}
}

// follow is a watch.Follow which shows nothing: it tells the waits, until ctx ends or the watch
// breaks.
func (f *feed) follow(ctx context.Context, _ string, show func(watch.List)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o := read("wait", f.dir)
	events, _, err := f.watch(ctx, o, f.keys.prefix(f.dir), clientv3.WithPrefix(), clientv3.WithFilterPut())
	if err != nil {
		return unavailable(o, err)
	}
	f.mu.Lock()
	before := maps.Clone(f.users)
	f.mu.Unlock()
	var nodes []driver.Node
	var revision int64
	err = o.Do(ctx, f.sessions.Life(), func(ctx context.Context) (err error) {
		nodes, revision, err = f.list(ctx, o, f.dir)
		return err
	})
	if err != nil {
		return err
	}
	f.begin(nodes, revision, before)
	defer f.begin(nil, 0, nil) // from then on nothing is known
	show(watch.List{})
	again := f.checkLater()
	defer again.Stop()
	for {
		select {
		case r, ok := <-events:
			if !ok || r.Err() != nil {
				return unavailable(o, answer(o, r.Err()))
			}
			f.heard(r.Events)
		case <-again.C:
			return unavailable(o, errCheck)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// begin starts anew with a list. What a wait from before the list waits for, and is not in
// it, is gone, whatever its revision: the store may have been set back.
func (f *feed) begin(nodes []driver.Node, revision int64, before map[*wait]struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known = memory{gone: make(map[string]int64)}
	f.known.listed(nodes, revision)
	for c := range f.users {
		f.tell(c)
	}
	for c := range before {
		for i, n := range c.nodes {
			if !f.known.lists(n) {
				c.end(i, nil)
			}
		}
	}
}

func (f *feed) heard(events []*clientv3.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range events {
		f.deleted(string(e.Kv.Key), e.Kv.ModRevision)
	}
}

// deleted ends the waits for a node that is gone. The caller holds the lock.
func (f *feed) deleted(key string, revision int64) {
	f.known.gone[key] = max(f.known.gone[key], revision)
	for c := range f.users {
		for i, n := range c.nodes {
			if n.Key == key && revision > int64(n.Token) {
				c.end(i, nil)
			}
		}
	}
}
