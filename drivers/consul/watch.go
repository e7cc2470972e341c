package consul

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
	"github.com/coordkit/coordkit/coord/driver/watch"
)

const (
	// lapse is how long the store lets a query wait for news. It adds up to a sixteenth.
	lapse = 7 * time.Second
	// rest is how long a query rests after an answer, and for each key of it. What changes
	// meanwhile is shown as one.
	rest, restPerKey = 2 * time.Millisecond, 100 * time.Microsecond
	longestRest      = 100 * time.Millisecond // if the answers bring no news
)

// Watch implements driver.Watcher.
//
// Consul does not tell of a directory that was deleted by "consul kv delete -recurse" of a
// shorter prefix, if something was deleted in it in the quarter of an hour before. That is
// seen when the query lapses.
func (c *conn) Watch(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
	return c.watches.Watch(ctx, dir)
}

// followScope is the watch.Follow of waits.
func (c *conn) followScope(ctx context.Context, scope string, show func(watch.List)) error {
	if !strings.HasSuffix(scope, "/") {
		return c.followKey(ctx, scope, show)
	}
	last := uint64(0)
	return c.followPrefix(ctx, scope, true, func(a *answer) (news bool) {
		show(watch.List{Nodes: identities(a.kvs), At: a.at})
		news = a.index != last
		last = a.index
		return news
	})
}

// identities returns what a wait has to know of the nodes among keys.
func identities(kvs api.KVPairs) (nodes []driver.Node) {
	for _, kv := range kvs {
		if isHeld(kv) {
			nodes = append(nodes, driver.Node{Key: kv.Key, Token: kv.CreateIndex})
		}
	}
	return nodes
}

// followKey follows a key. By default Consul answers from what its leader has, which may be
// out of date. If an answer is older than the node that is waited for, a linearizable read
// follows.
func (c *conn) followKey(ctx context.Context, key string, show func(watch.List)) error {
	wait := rest
	for q := (question{scope: key, index: c.scopes.wanted(key)}); ; {
		a, err := c.ask(ctx, q)
		if err != nil {
			return err
		}
		show(watch.List{Nodes: identities(a.kvs), At: a.at})
		wait = restAfter(wait, a, a.index > q.index)
		q = question{scope: key, index: a.index}
		if a.at < c.scopes.wanted(key) {
			q = question{scope: key, consistent: true}
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// followDir is the watch.Follow of Watch. If there are many, some list every second, so that
// connections are left for calls.
func (c *conn) followDir(ctx context.Context, dir string, show func(watch.List)) error {
	blocking := false
	select {
	case c.watching <- struct{}{}:
		blocking = true
		defer func() { <-c.watching }()
	default:
	}
	var last []driver.Node
	return c.followPrefix(ctx, c.dir(dir), blocking, func(a *answer) (news bool) {
		nodes := c.nodes(dir, a.kvs)
		news = last == nil || !slices.EqualFunc(nodes, last, func(n, m driver.Node) bool { return n.Same(m) && n.Version == m.Version })
		if last = nodes; news {
			show(watch.List{Nodes: nodes, At: a.at})
		}
		return news
	})
}

// followPrefix shows all keys that begin with a prefix, again and again. The reads are
// linearizable. It rests longer if there is no news: an empty directory, for one, has an
// answer whenever anything changes in the store.
func (c *conn) followPrefix(ctx context.Context, prefix string, blocking bool, show func(*answer) (news bool)) error {
	wait := rest
	for q := (question{scope: prefix, consistent: true}); ; {
		a, err := c.ask(ctx, q)
		if err != nil {
			return err
		}
		wait = restAfter(wait, a, show(a))
		if blocking {
			q.index = a.index
		} else {
			wait = time.Second
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// ask asks a question. A query that waits for news is shared by all who ask the same, and is
// not canceled with ctx: the agent would keep its connection until the query lapses.
func (c *conn) ask(ctx context.Context, q question) (*answer, error) {
	if q.index == 0 {
		a := c.query(ctx, q)
		return a, a.err
	}
	c.scopes.mu.Lock()
	a := c.scopes.asked[q]
	if a == nil {
		a = &answer{done: make(chan struct{})}
		if !c.sessions.Go(func() { c.answer(q, a) }) {
			c.scopes.mu.Unlock()
			return nil, &driver.Error{Op: "wait", Store: store, Kind: driver.ErrClosed}
		}
		c.scopes.asked[q] = a
	}
	c.scopes.mu.Unlock()
	select {
	case <-a.done:
		return a, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *conn) answer(q question, a *answer) {
	found := c.query(context.Background(), q) // ends with the connection
	a.kvs, a.index, a.at, a.err = found.kvs, found.index, found.at, found.err
	c.scopes.mu.Lock()
	delete(c.scopes.asked, q)
	c.scopes.mu.Unlock()
	close(a.done)
}

// query makes a request. A linearizable answer holds what the store was known to have
// reached when it was asked for, although the index of a scope may be lower, and even fall:
// Consul forgets what was deleted.
func (c *conn) query(ctx context.Context, q question) *answer {
	o := attempt.Op{Store: store, Name: "watch", Key: q.scope, Limit: lapse + lapse/16 + 2*time.Second}
	how := forNews
	if q.index == 0 {
		how, o.Limit = forCall, limit
	}
	var a answer
	a.err = o.Do(ctx, c.sessions.Life(), c.send(o, how, func(ctx context.Context, client *api.Client) error {
		before := c.newest.Load()
		opts := (&api.QueryOptions{RequireConsistent: q.consistent, WaitIndex: q.index, WaitTime: lapse}).WithContext(ctx)
		var err error
		if strings.HasSuffix(q.scope, "/") {
			a.kvs, a.index, err = c.read(client, o, q.scope, opts)
		} else {
			var kv *api.KVPair
			if kv, a.index, err = c.readKey(client, q.scope, opts); kv != nil {
				a.kvs = api.KVPairs{kv}
			}
		}
		if a.at = a.index; q.consistent {
			a.at = max(a.at, before)
		}
		return err
	}))
	return &a
}

// restAfter returns how long to rest after an answer, when it was last before.
func restAfter(last time.Duration, a *answer, news bool) time.Duration {
	if news {
		return rest + time.Duration(len(a.kvs))*restPerKey
	}
	return min(2*last, longestRest)
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
