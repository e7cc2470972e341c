package sessions

import (
	"context"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// farewell is how long the Close of a connection waits for the store to end the sessions.
// The contract gives Close a second.
const farewell = 500 * time.Millisecond

// Keeper keeps the sessions and goroutines of one connection. Its methods are safe for
// concurrent use.
type Keeper struct {
	store string

	life    context.Context // of the connection
	end     context.CancelCauseFunc
	running sync.WaitGroup // every goroutine
	closed  chan struct{}  // closed at the end of Close

	mu       sync.Mutex
	sessions map[*Session]struct{} // nil once closed
}

// New returns the keeper of a connection to a store, which is named by its scheme. The
// connection calls Close.
func New(store string) *Keeper {
	k := &Keeper{store: store, closed: make(chan struct{}), sessions: make(map[*Session]struct{})}
	k.life, k.end = context.WithCancelCause(context.Background())
	return k
}

// Life returns the context of the connection, which ends at the end of Close. Its cause
// Is driver.ErrClosed.
func (k *Keeper) Life() context.Context { return k.life }

// Go runs f on a goroutine, which Close waits for. f returns soon after Life has ended.
// Go reports false if the keeper is closed, and does not run f.
func (k *Keeper) Go(f func()) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sessions == nil {
		return false
	}
	k.running.Go(f)
	return true
}

// forget takes a session off the list of those that Close ends.
func (k *Keeper) forget(s *Session) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.sessions, s)
}

// whyClosed is why calls fail once the connection is closed.
func (k *Keeper) whyClosed() error {
	return &driver.Error{Op: "connection", Store: k.store, Kind: driver.ErrClosed}
}

// Close ends all sessions at once, asks the store to end them, for half a second at the
// most, ends Life, waits for the goroutines, and then calls release, which may be nil.
// The sessions end before the store is told of any, so that none is granted what another
// of the same program has left. Close is idempotent. Of concurrent calls all return when
// the first is done.
func (k *Keeper) Close(release func()) {
	k.mu.Lock()
	sessions := k.sessions
	k.sessions = nil
	k.mu.Unlock()
	if sessions == nil {
		<-k.closed
		return
	}
	defer close(k.closed)
	for s := range sessions {
		s.end()
	}
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	var revoking sync.WaitGroup
	for s := range sessions {
		revoking.Go(func() { _ = s.Close(ctx) }) // else the store ends it by its TTL
	}
	revoking.Wait()
	k.end(k.whyClosed())
	k.running.Wait()
	if release != nil {
		release()
	}
}
