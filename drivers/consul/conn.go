package consul

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/consul/api"
	"go.uber.org/zap"

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

	// ConsulNamespace and Partition are those that the client was configured
	// with, for Consul Enterprise. The client does not tell, and transactions
	// need to know.
	ConsulNamespace, Partition string
}

// New returns a connection that uses the caller's own client, its agent, token
// and HTTP connections. Everything is kept below namespace, one or more path
// segments joined by "/"; the empty one is "coordkit". opts may be nil. A
// namespace of another form (see driver.Namespace) is an error that Is
// driver.ErrInvalid.
//
// The caller closes the connection, which does not close idle HTTP connections
// of the client. The package comment says how the client should be configured.
func New(client *api.Client, namespace string, opts *Options) (driver.Conn, error) {
	if opts == nil {
		opts = &Options{}
	}
	namespace, err := driver.Namespace(namespace)
	if err != nil {
		return nil, fmt.Errorf("consul: %w", err)
	}
	t := tenant{opts.ConsulNamespace, opts.Partition}
	return newConn([]access{{client, newLibrary(client)}}, namespace, t, opts.Logger, defaultTiming), nil
}

// timing is every duration that the driver chooses.
type timing struct {
	attempt time.Duration // the most that one request may take
	parting time.Duration // how long Close lets the last requests take
	watch   watchTiming
}

var defaultTiming = timing{
	attempt: 5 * time.Second,
	parting: 500 * time.Millisecond,
	watch:   defaultWatchTiming,
}

// of returns the limit of an attempt on behalf of a session: a third of the
// TTL leaves time for another one.
func (t timing) of(ttl time.Duration) time.Duration { return min(t.attempt, ttl/3) }

// conn implements driver.Conn and driver.Watcher.
type conn struct {
	keyspace
	tenant  tenant
	log     *zap.Logger
	timing  timing
	agents  *agents
	room    chan struct{} // holds one for each request under way
	limits  limit.Group
	sharing *batch.Group[*member]
	watches *watches
	strays  strays
	refresh func() // closes the idle HTTP connections by which sessions are kept; may be nil
	release func() // closes the HTTP connections if they are ours; may be nil

	ctx     context.Context // ends with the connection
	cancel  context.CancelFunc
	using   context.Context // ends when Close begins
	leave   context.CancelFunc
	left    chan struct{}  // closed when Close has ended
	farther sync.WaitGroup // what opens or ends sessions, in the background too
	running sync.WaitGroup // every other goroutine

	mu       sync.Mutex
	closed   bool
	sessions map[*session]struct{}
}

var _ driver.Watcher = (*conn)(nil)

func newConn(all []access, namespace string, tenant tenant, log *zap.Logger, t timing) *conn {
	if log == nil {
		log = zap.NewNop()
	}
	if namespace == "" {
		namespace = driver.DefaultNamespace
	}
	c := &conn{
		keyspace: newKeyspace(namespace),
		tenant:   tenant,
		log:      log,
		timing:   t,
		agents:   newAgents(all),
		room:     make(chan struct{}, maxCalls),
		strays:   newStrays(),
		left:     make(chan struct{}),
		sessions: make(map[*session]struct{}),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.using, c.leave = context.WithCancel(c.ctx)
	c.sharing = newSharing(c)
	c.watches = newWatches(c, t.watch)
	return c
}

// Caps implements driver.Conn.
func (c *conn) Caps() driver.Caps {
	return driver.CapCreateList | driver.CapWaitAny | driver.CapWatch | driver.CapShared | driver.CapDurable
}

// List implements driver.Conn. The read is linearizable, hence L5: by default
// Consul answers from what its leader believes, which a leader that was deposed
// and does not know it yet does as well.
func (c *conn) List(ctx context.Context, dir string) ([]driver.Node, error) {
	kvs, err := c.list(ctx, op{name: "list", key: dir, limit: c.timing.attempt, life: c.ctx}, c.dir(dir))
	if err != nil {
		return nil, err
	}
	return c.nodes(dir, kvs), nil
}

// Close implements driver.Conn. It ends the sessions at once and asks the store
// to destroy them, all at the same time and for no longer than half a second in
// all: a store that works has done it by then, and one that does not destroys
// them when twice their TTL has passed.
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
		c.farther.Go(func() { c.destroyUntilDone(s.id, s.limit(), s.ttl) })
	}
	c.mu.Unlock()
	c.leave()

	destroyed := make(chan struct{})
	go func() {
		c.farther.Wait() // each ends with c.ctx
		close(destroyed)
	}()
	patience := time.NewTimer(c.timing.parting)
	defer patience.Stop()
	// Whichever comes first, what follows ends the rest and waits for it.
	select {
	case <-destroyed:
	case <-patience.C:
		c.log.Warn("closed with sessions left to expire", zap.Duration("waited", c.timing.parting))
	}
	c.cancel()
	c.watches.close()
	<-destroyed
	c.running.Wait()
	c.sharing.Close() // what is under way has ended with c.ctx
	c.limits.Close()
	if c.release != nil {
		c.release()
	}
	close(c.left)
	return nil
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

// begin runs f, which comes to its end with the sessions, unless these have been
// closed with the connection.
func (c *conn) begin(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.running.Go(f)
	}
}

// enter begins a call after which a session may have to be ended, in the
// background by c.farther.Go if need be. Close waits for it, as long as it waits
// for anything. It reports false when Close has begun; otherwise the caller
// calls c.farther.Done in the end.
func (c *conn) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.farther.Add(1)
	return true
}
