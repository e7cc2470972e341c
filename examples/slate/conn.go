package slate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/examples/slate/slated"
)

// conn is a connection: none on the network, but a place to dial, and what
// belongs to it.
type conn struct {
	addr      string
	dial      dialFunc
	namespace string

	life    context.Context // ends when the connection is closed
	end     context.CancelFunc
	running sync.WaitGroup // every goroutine

	mu       sync.Mutex
	sessions map[*session]struct{} // nil once closed
}

func newConn(addr, namespace string, dial dialFunc) *conn {
	c := &conn{addr: addr, dial: dial, namespace: namespace, sessions: map[*session]struct{}{}}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

func (c *conn) Caps() driver.Caps { return driver.CapCreateList | driver.CapShared }

func (c *conn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	o := op{name: "open session", limit: min(ttl/3, 5*time.Second), write: true, life: c.life}
	if ttl < minTTL || ttl > maxTTL {
		return nil, o.failed(driver.ErrInvalid, fmt.Errorf("a TTL of %v; slated grants from %v to %v", ttl, minTTL, maxTTL))
	}
	sent := time.Now()
	r, err := c.do(ctx, o, slated.Request{Op: "grant", TTL: ttl})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions == nil { // closed in the meantime: nobody renews the lease
		return nil, o.failed(driver.ErrClosed, nil)
	}
	s := newSession(c, r.Lease, ttl, sent)
	c.sessions[s] = struct{}{}
	c.running.Go(s.attend)
	return s, nil
}

// Close ends the sessions at once, and gives the store half a second to hear of
// it.
func (c *conn) Close() error {
	c.mu.Lock()
	sessions, first := c.sessions, c.sessions != nil
	c.sessions = nil
	c.mu.Unlock()
	if !first {
		<-c.life.Done() // another Close is at it, or was
		c.running.Wait()
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	for s := range sessions {
		s.end()
	}
	var closing sync.WaitGroup
	for s := range sessions { // when none of them can be told that a node of another is gone
		closing.Go(func() { _ = s.Close(ctx) })
	}
	closing.Wait()
	c.end()
	c.running.Wait()
	return nil
}

// Keys: <namespace>/<dir>/<session>-<id>.

func (c *conn) prefix(dir string) string { return c.namespace + "/" + dir + "/" }

func (c *conn) key(dir, session, id string) string { return c.prefix(dir) + session + "-" + id }

func (c *conn) List(ctx context.Context, dir string) ([]driver.Node, error) {
	o := op{name: "list", key: dir, limit: 5 * time.Second, life: c.life}
	r, err := c.do(ctx, o, slated.Request{Op: "txn", Then: []slated.Action{{Get: c.prefix(dir)}}})
	if err != nil {
		return nil, err
	}
	return c.nodes(dir, r.Got[0]), nil
}

// nodes makes nodes of keys, and leaves out the keys that are none.
func (c *conn) nodes(dir string, kvs []slated.KV) (nodes []driver.Node) {
	for _, kv := range kvs {
		if n, ok := c.node(dir, kv); ok {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b driver.Node) int { return cmp.Compare(a.Seq, b.Seq) })
	return nodes
}

// node makes a node of a key. One whose name tells of another session than the
// one it is bound to is none.
func (c *conn) node(dir string, kv slated.KV) (driver.Node, bool) {
	session, id, _ := strings.Cut(strings.TrimPrefix(kv.Key, c.prefix(dir)), "-")
	if session == "" || session != kv.Lease || !driver.ValidID(id) {
		return driver.Node{}, false
	}
	return driver.Node{
		Dir: dir, ID: id, Key: kv.Key, Session: session,
		Seq: kv.Created, Token: kv.Created, Version: kv.Modified, Data: kv.Value,
	}, true
}
