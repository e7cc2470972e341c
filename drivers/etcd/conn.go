package etcd

import (
	"context"
	"fmt"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/internal/batch"
	"github.com/coordkit/coordkit/drivers/internal/limit"
)

// Options are the settings of New. The zero value is a sensible default.
type Options struct {
	// Logger gets what the driver has to say: at level debug what it does
	// about failures, at level warn what an operator should look into. nil
	// means silence.
	Logger *zap.Logger
}

// New returns a connection that uses the caller's own client, its endpoints,
// credentials and connections. Everything is kept below namespace, one or more
// path segments joined by "/"; the empty one is "coordkit". opts may be nil. A
// namespace of another form (see driver.Namespace) is an error that Is
// driver.ErrInvalid.
//
// The caller closes the connection, which does not close the client, and then
// the client. Wrappers that were put around the client's KV, Watcher or Lease
// are not used. Interceptors must not send a second request before the first has
// failed; after that the driver sees to it that they send no other. The package
// comment says how the client should be configured.
func New(client *clientv3.Client, namespace string, opts *Options) (driver.Conn, error) {
	if opts == nil {
		opts = &Options{}
	}
	namespace, err := driver.Namespace(namespace)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	return newConn(client, namespace, opts.Logger, defaultTiming), nil
}

// timing is every duration that the driver chooses.
type timing struct {
	attempt time.Duration // the most that one request may take
	parting time.Duration // how long Close lets the last revocations take
	feeds   feedTiming
}

var defaultTiming = timing{
	attempt: 5 * time.Second,
	parting: 500 * time.Millisecond,
	feeds:   defaultFeedTiming,
}

// of returns the limit of an attempt on behalf of a session: a third of the
// TTL leaves time for another one.
func (t timing) of(ttl time.Duration) time.Duration { return min(t.attempt, ttl/3) }

// conn implements driver.Conn and driver.Watcher.
type conn struct {
	keyspace
	log     *zap.Logger
	timing  timing
	channel *grpc.ClientConn
	pool    *pool // requests go over it first; nil: they go by gRPC alone
	leases  pb.LeaseClient
	feeds   *feeds
	sharing *batch.Group[*member]
	limits  limit.Group

	// direct: the client is the driver's own, and a request that it is given is sent
	// once. Another may have interceptors that do what they like.
	direct  bool
	others  bool         // there may be other members to go to
	release func() error // closes the client if it is ours; may be nil

	ctx     context.Context // ends with the connection
	cancel  context.CancelFunc
	leaving chan struct{}  // closed when Close begins
	left    chan struct{}  // closed when it has ended
	farther sync.WaitGroup // revocations that go on in the background
	running sync.WaitGroup // every other goroutine

	mu       sync.Mutex
	closed   bool
	sessions map[*session]struct{}
}

func newConn(client *clientv3.Client, namespace string, log *zap.Logger, t timing) *conn {
	if log == nil {
		log = zap.NewNop()
	}
	if namespace == "" {
		namespace = driver.DefaultNamespace
	}
	channel := client.ActiveConnection()
	c := &conn{
		keyspace: keyspace(namespace),
		log:      log,
		timing:   t,
		channel:  channel,
		leases:   pb.NewLeaseClient(channel),
		others:   true,
		leaving:  make(chan struct{}),
		left:     make(chan struct{}),
		sessions: make(map[*session]struct{}),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.sharing = newSharing(c)
	c.feeds = newFeeds(c, pb.NewWatchClient(channel), t.feeds)
	return c
}

// over has requests go over the connections of a pool, and watches too. It is called
// before there are any.
//
// When the pool reaches a server gRPC is not told to cut its pause short: its
// ResetConnectBackoff reads a map that it changes at the same time when it resolves or
// connects, which ends the process (grpc/grpc-go#9155).
func (c *conn) over(p *pool) {
	c.pool, c.feeds.client = p, pb.NewWatchClient(streams{c.channel, p})
}

// Caps implements driver.Conn.
func (c *conn) Caps() driver.Caps {
	return driver.CapCreateList | driver.CapWaitAny | driver.CapWatch | driver.CapShared | driver.CapDurable
}

// List implements driver.Conn. The read is linearizable, hence L5.
func (c *conn) List(ctx context.Context, dir string) ([]driver.Node, error) {
	nodes, _, err := c.list(ctx, op{name: "list", key: dir, limit: c.timing.attempt, life: c.ctx}, dir)
	return nodes, err
}

func (c *conn) list(ctx context.Context, o op, dir string) (nodes []driver.Node, revision int64, _ error) {
	resp, err := c.read(ctx, o, rangeOver(c.dir(dir)))
	if err != nil {
		return nil, 0, err
	}
	revision = resp.Header.Revision
	return c.nodes(dir, resp.Kvs, revision), revision, nil
}

// Close implements driver.Conn. It ends the sessions at once and asks the
// store to drop their leases, all at the same time and for no longer than half
// a second in all: a store that works has done it by then, and one that does
// not drops them when their TTL has passed.
func (c *conn) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		<-c.left
		return nil
	}
	c.closed = true
	for s := range c.sessions {
		s.close()
	}
	for s := range c.sessions { // when none of them can be told that a node of another is gone
		c.farther.Go(func() { c.revokeUntilDone(s.id, s.limit(), s.ttl, false) })
	}
	c.mu.Unlock()
	close(c.leaving)

	revoked := make(chan struct{})
	go func() {
		c.farther.Wait() // each ends with c.ctx
		close(revoked)
	}()
	patience := time.NewTimer(c.timing.parting)
	defer patience.Stop()
	// Whichever comes first, what follows ends the revocations and waits.
	select {
	case <-revoked:
	case <-patience.C:
		c.log.Warn("closed with leases left to expire", zap.Duration("waited", c.timing.parting))
	}
	c.cancel()
	c.feeds.close()
	<-revoked
	c.running.Wait()
	c.sharing.Close()
	c.limits.Close()
	c.pool.close()
	var err error
	if c.release != nil {
		err = c.release()
	}
	close(c.left)
	return err
}

// adopt makes the connection the owner of a session. It reports false when the
// connection is closed.
func (c *conn) adopt(s *session) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.sessions[s] = struct{}{}
	c.running.Go(func() {
		<-s.Done()
		s.cancel()
		s.lease.Wait()
		c.mu.Lock()
		delete(c.sessions, s)
		c.mu.Unlock()
	})
	return true
}
