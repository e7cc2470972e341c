package coord

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord/driver"
)

// Client is a program's door to one namespace of a store. Recipes are made on
// it. All methods are safe for concurrent use; one client serves a whole
// program.
type Client struct {
	conn  driver.Conn
	ttl   time.Duration
	owner Owner
	log   *zap.Logger
	hubs  *hubs // what Watch shows

	// opening is held while the shared session is opened anew. It is a channel
	// so that waiting for it ends with the ctx.
	opening chan struct{}
	shared  atomic.Pointer[Session] // stored with opening held, and read by anybody; nil at first

	life context.Context // ends with Close
	end  context.CancelFunc
	work sync.WaitGroup // what Go started

	mu       sync.Mutex
	closed   bool
	sessions map[*Session]struct{} // all that Close has to close
	local    map[any]any
}

// New returns a client on a connection that the program made itself. Of c it
// uses SessionTTL, Require, Owner and Logger. The client owns conn from then
// on: closing the client closes it. After an error conn still is the caller's.
func New(conn driver.Conn, c Config) (*Client, error) {
	if c.SessionTTL == 0 {
		c.SessionTTL = Duration(DefaultSessionTTL)
	}
	if err := checkTTL(time.Duration(c.SessionTTL), driver.Opener{}); err != nil {
		return nil, fmt.Errorf("coordkit: %w", err)
	}
	if missing := c.Require &^ conn.Caps(); missing != 0 {
		return nil, fmt.Errorf("coordkit: %w: the store has not the required capabilities %s; it has %s",
			ErrUnsupported, missing, conn.Caps())
	}
	owner, err := c.Owner.identify()
	if err != nil {
		return nil, fmt.Errorf("coordkit: %w", err)
	}
	log := c.Logger
	if log == nil {
		log = zap.NewNop()
	}
	client := &Client{
		conn:     conn,
		ttl:      time.Duration(c.SessionTTL),
		owner:    owner,
		log:      log,
		hubs:     newHubs(conn, log),
		opening:  make(chan struct{}, 1),
		sessions: make(map[*Session]struct{}),
	}
	client.life, client.end = context.WithCancel(context.Background())
	return client, nil
}

// Session returns the session that the client's recipes share, and opens one if there
// is none or the last was lost. ctx bounds the opening. If the store cannot be reached
// for as long as the client's TTL, the call fails sooner, with an error that Is
// ErrUnavailable or ErrUncertain.
//
// A lost session is never revived: what was held on it stays lost, and only
// what is acquired later uses the new one.
func (c *Client) Session(ctx context.Context) (*Session, error) {
	if s := c.living(); s != nil {
		return s, nil
	}
	began := time.Now()
	if err := c.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer func() { <-c.opening }()
	if s := c.living(); s != nil { // another has opened it meanwhile
		return s, nil
	}
	s, err := c.newSession(ctx, c.ttl, c.ttl-time.Since(began)) // what another has tried in vain counts
	if err != nil {
		return nil, err
	}
	c.shared.Store(s)
	return s, nil
}

// living returns the shared session, or nil if there is none to use.
func (c *Client) living() *Session {
	if s := c.shared.Load(); s != nil && s.Err() == nil {
		return s
	}
	return nil
}

// takeTurn waits while others open the session, each for its own ctx: no longer than
// this caller's ctx, nor than one of them may take.
func (c *Client) takeTurn(ctx context.Context) error {
	select {
	case c.opening <- struct{}{}:
		return nil
	default:
	}
	patience := time.NewTimer(c.ttl)
	defer patience.Stop()
	select { // if several are ready, any will do
	case c.opening <- struct{}{}:
		return nil
	case <-patience.C:
		return &Error{Op: "open session", Kind: ErrUnavailable, Err: errNoTurn}
	case <-ctx.Done():
		return &Error{Op: "open session", Err: driver.ContextError(ctx)}
	}
}

var errNoTurn = errors.New("nobody could for as long as the TTL")

// NewSession opens a session of the caller's own, for what must not share its fate with
// the rest of the program. Pass it to recipes with WithSession. A ttl of 0 is the
// client's. The caller closes the session; Close of the client does so at the latest.
// ctx bounds the opening and not the session. If the store is out of reach, the call
// fails as Session does, after the client's TTL and not after ttl.
func (c *Client) NewSession(ctx context.Context, ttl time.Duration) (*Session, error) {
	if ttl == 0 {
		ttl = c.ttl
	}
	return c.newSession(ctx, ttl, c.ttl)
}

// newSession is NewSession that gives up when patience has passed since its first
// attempt failed.
func (c *Client) newSession(ctx context.Context, ttl, patience time.Duration) (*Session, error) {
	if err := c.open(); err != nil {
		return nil, err
	}
	// An attempt that could not reach the store is made again: the stores
	// elect leaders and fail over in less time than callers are ready to wait.
	var ds driver.Session
	err := c.retryFor(ctx, patience, func(ctx context.Context) (err error) {
		if err := c.open(); err != nil {
			return err
		}
		if ds, err = c.conn.OpenSession(ctx, ttl); err != nil {
			return err
		}
		return stillborn(ctx, ds)
	})
	if err != nil {
		return nil, err
	}
	s := newSession(c, ds)
	c.mu.Lock()
	if c.closed { // while the session was being opened
		c.mu.Unlock()
		_ = s.Close(ctx) // the connection is being closed under it as well
		return nil, &Error{Op: "open session", Kind: ErrClosed}
	}
	c.sessions[s] = struct{}{}
	c.mu.Unlock()
	c.log.Info("session opened", zap.String("session", ds.ID()), zap.Duration("ttl", ds.TTL()))
	return s, nil
}

// stillborn returns an error if a session is over already: its opening has taken most of
// the TTL. Nobody had anything by it, so this is no loss to be told of, and the next may
// do better.
func stillborn(ctx context.Context, ds driver.Session) error {
	why := ds.Err()
	if why == nil || errors.Is(why, ErrClosed) { // who closed it finds out
		return nil
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_ = ds.Close(ended) // in the background
	return &Error{Op: "open session", Kind: ErrUnavailable,
		Err: fmt.Errorf("session %s was over when it had been opened: %v", ds.ID(), why)}
}

func (c *Client) open() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return &Error{Op: "open session", Kind: ErrClosed}
	}
	return nil
}

// List returns what is in the queue of a directory, for authors of recipes. It
// needs no session. ctx bounds the call with all its attempts.
func (c *Client) List(ctx context.Context, dir string) ([]driver.Node, error) {
	var nodes []driver.Node
	err := c.Retry(ctx, func(ctx context.Context) (err error) {
		nodes, err = c.conn.List(ctx, dir)
		return err
	})
	return nodes, err
}

// Owner is who this client says it is to those who list a queue. The caller may change
// what it is given.
func (c *Client) Owner() Owner {
	o := c.owner
	o.Labels = maps.Clone(o.Labels)
	return o
}

// Caps says which optional capabilities the store has.
func (c *Client) Caps() driver.Caps { return c.conn.Caps() }

// Local returns what recipes keep about this client under key, and makes it at
// the first call, as Session.Local does for what ends with a session. What is
// kept stays as long as the client, so keys are few.
func (c *Client) Local(key any, make func() any) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.local[key]
	if !ok {
		if c.local == nil {
			c.local = map[any]any{}
		}
		v = make()
		c.local[key] = v
	}
	return v
}

// Go runs fn in a goroutine that Close waits for. fn returns promptly when its ctx
// ends, which it does with Close. Go reports false, and does not run fn, if the
// client is closed. It is for authors of recipes, for what outlives a session;
// what does not is for Session.Go. fn must not wait for Close.
func (c *Client) Go(fn func(ctx context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.work.Go(func() { fn(c.life) })
	return true
}

// Logger returns the client's logger, for authors of recipes.
func (c *Client) Logger() *zap.Logger { return c.log }
