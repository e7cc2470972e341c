package etcd

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/coordkit/coordkit/drivers/etcd/internal/h2"
	"github.com/coordkit/coordkit/drivers/internal/idle"
)

// How many connections a pool has beside those of streams, and for how long each may be
// idle. Who asks alone needs one, and another while the first answer is being read.
const (
	mostChannels = 2
	channelIdle  = 30 * time.Second
)

// A connection is made for programs that have so many requests in such a time. Of less
// the connection would be idle for most of its life.
const (
	worthwhile = 4
	busyFor    = time.Second
)

// The pauses after a connection could not be made.
const (
	firstRedial   = 100 * time.Millisecond
	longestRedial = 3 * time.Second
)

// pool is connections to the servers over which requests go one at a time: see package h2.
// Requests beyond that go by gRPC, which sends many of them at once. And so do watches, if
// their connections cannot be made: see streams.
//
// Where there are several members the connections are to the leader, as that is whom the
// others would have to ask. They are made in the background, and while there is none,
// because there was not much to ask, or the servers cannot be reached, or have just elected
// a leader, requests go by gRPC.
type pool struct {
	access
	login    login
	log      *zap.Logger
	free     *idle.Set[*channel]
	term     atomic.Uint64 // the newest that was heard of: there may be another leader
	streamed atomic.Uint32 // counts the streams that were opened, from anywhere
	barred   atomic.Int64  // until when streams go by gRPC, in nanoseconds of the epoch

	// admit is asked before each request, in tests: those that it refuses go by gRPC.
	admit func(method string) bool

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	opened  map[*channel]struct{} // those of streams too
	calling int                   // those that are not
	dialing bool
	closed  bool
	first   int           // of hosts, to be asked first
	missed  int           // requests that found no connection, since
	since   time.Time     // then
	pause   time.Duration // after the last attempt
	after   time.Time     // when the next may be made
}

// access is how to get to the servers.
type access struct {
	hosts   []string
	timeout time.Duration // of an attempt to connect
	tls     *tls.Config   // nil: none
}

func newPool(a access, log *zap.Logger) *pool {
	p := &pool{
		access: a, log: log,
		free:   idle.New[*channel](mostChannels, channelIdle),
		opened: make(map[*channel]struct{}),
		first:  rand.N(len(a.hosts)),
	}
	p.streamed.Store(rand.Uint32())
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// ask makes a request over one of the connections, and reports false if there is none for
// it: then nothing was sent. It may be called of nil. It returns when attempt ends, which is
// within ctx, the caller's. The errors are those of h2.Conn.Call.
func (p *pool) ask(ctx, attempt context.Context, method string, req, reply proto.Message) (sent bool, err error) {
	if p == nil || proto.Size(req) > h2.MaxRequest || p.admit != nil && !p.admit(method) {
		return false, nil
	}
	c := p.take()
	if c == nil {
		return false, nil
	}
	err = c.Call(attempt, method, req, reply)
	switch {
	case err != nil && isAny(err, staleTokens):
		// Nothing was done. gRPC's client tries again, with a new token if need be.
		_ = c.Close() // may be closed already
		p.login.forget(c.token)
		return false, nil
	case c.Good() && status.Code(err) != codes.Unavailable:
		p.free.Put(c)
	case ctx.Err() != nil: // the caller's end is nobody's fault
		_ = c.Close() // may be closed already
	default: // what ails one of them ails the others, as likely as not
		_ = c.Close() // likewise
		p.free.Empty()
		p.turn(c.host)
	}
	return true, err
}

// take returns a connection for one request; nil if there is none.
func (p *pool) take() *channel {
	for {
		c, ok := p.free.Take()
		switch {
		case !ok:
			p.more()
			return nil
		case !c.Good(), c.term < p.term.Load(), !c.until.IsZero() && time.Now().After(c.until):
			_ = c.Close() // may be closed already
		default:
			return c
		}
	}
}

// more takes note of a request that found no connection, and has one made if that is
// worth it.
func (p *pool) more() {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.since) > busyFor {
		p.missed, p.since = 0, now
	}
	p.missed++
	if p.closed || p.dialing || p.calling >= mostChannels || p.missed < worthwhile || now.Before(p.after) {
		return
	}
	p.dialing, p.missed = true, 0
	p.running.Go(p.connect)
}

// connect makes a connection.
func (p *pool) connect() {
	c, err := p.reach()
	p.mu.Lock()
	p.dialing = false
	if err == nil {
		// Here it may be lower than what was heard of before a backup was restored.
		p.term.Store(c.term)
		p.pause = 0
	} else {
		p.pause = min(max(2*p.pause, firstRedial), longestRedial)
	}
	p.after = time.Now().Add(max(p.pause, busyFor)) // if it is of no use, there are not to be many
	p.mu.Unlock()
	switch {
	case err == nil:
		p.free.Put(c) // which closes it if the pool is closed
	case p.ctx.Err() == nil:
		p.log.Debug("no connection beside gRPC's", zap.Error(err))
	}
}

// refused takes note that a watch was refused. It may be called of nil.
func (p *pool) refused() {
	if p != nil {
		p.login.doubt()
	}
}

// saw takes note of what a server says of itself in an answer. It may be called of nil.
func (p *pool) saw(h *pb.ResponseHeader) {
	if p == nil || len(p.hosts) == 1 {
		return
	}
	for term := h.GetRaftTerm(); ; {
		known := p.term.Load()
		if term <= known || p.term.CompareAndSwap(known, term) {
			return
		}
	}
}

// close closes all connections. What is under way fails. It may be called of nil.
func (p *pool) close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.closed = true
	opened := p.opened
	p.opened = nil
	p.mu.Unlock()
	p.cancel()
	for c := range opened {
		_ = c.Conn.Close() // may be closed already
	}
	p.free.Close()
	p.running.Wait()
}
