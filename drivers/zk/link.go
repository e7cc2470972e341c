package zk

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/internal/dial"
	"github.com/coordkit/coordkit/drivers/internal/secure"
)

// link is one session of ZooKeeper, with the client library's connection that carries it.
// When it is over no server is dialed any more: the library would open another session.
type link struct {
	life     context.Context // ends when calls are to end; the cause is a *driver.Error
	end      context.CancelCauseFunc
	zk       *gozk.Conn
	patience time.Duration // with a silent server; there is time for three before the lease ends

	peers    peers
	rounds   *dial.Rounds // used by the library's goroutine, as is wrong
	wrong    bool         // all that answered in this round was something else than ZooKeeper
	watches  *watches
	calls    sync.WaitGroup  // goroutines of requests, and what tells that the library has come to rest
	shut     context.Context // ends when no server is dialed for anything any more
	shutting context.CancelFunc
	seen     atomic.Int64 // the highest zxid that reads are known to include

	mu      sync.Mutex
	changed chan struct{}     // closed at the next change of what follows
	ending  int               // calls of endSession; servers are dialed for them although life has ended
	expired bool              // the store says that the session is over
	trusted bool              // the server knows the credentials, or there are none
	up      bool              // the session is open on wire
	since   time.Time         // since when it is up, or not
	wire    *wire             // the latest connection; nil if no session was asked for yet
	session int64             // 0 until it was granted
	granted time.Duration     // the timeout
	begun   time.Time         // when the request was sent by which it was granted
	dialErr error             // why the last attempt to connect failed
	sending map[string]func() // see behind
}

// peers is how to reach the store.
type peers struct {
	network dial.Network
	hosts   []string    // host:port
	tls     *tls.Config // nil: none
	digest  []byte      // "user:password"; nil: none
}

// provider keeps the library from resolving names and from pauses of a second.
type provider struct{ link *link }

func (p provider) Init([]string) error  { return nil }
func (p provider) Len() int             { return 1 }
func (p provider) Connected()           {}
func (p provider) Next() (string, bool) { return "", p.link.shut.Err() != nil }

var errOutlived = errors.New("no server has taken the session back before its timeout")

// dial is the library's dialer. It waits until the session may be carried to a server.
func (l *link) dial(string, string, time.Duration) (net.Conn, error) {
	waited, outlived, limit := false, false, l.patience
	err := l.await(l.shut, func() bool {
		may := l.mayDial()
		waited = waited || !may
		outlived = l.session != 0 && time.Since(l.since) > l.granted && l.ending == 0
		if l.session == 0 { // none to lose
			limit = max(limit, time.Second)
		}
		return may
	})
	switch {
	case err != nil:
		return nil, err
	case outlived: // servers that were set back turn a link away for ever that has seen a later state
		l.lose(errOutlived)
		return nil, errOutlived
	case waited:
		l.rounds.Reset()
	}
	conn, err := l.open(limit)
	if err != nil {
		l.failed(err)
		return nil, err
	}
	w := &wire{
		Conn: conn, opened: time.Now(), hurry: time.AfterFunc(limit, func() { _ = conn.Close() }),
		granted: l.accept, watched: l.watches.wanted, sending: l.writes, failed: l.failed,
	}
	l.change(func() {
		if l.wire = w; !l.mayDial() || l.shut.Err() != nil { // any more
			w.drop()
		}
	})
	return w, nil
}

// open connects to the next address.
func (l *link) open(limit time.Duration) (net.Conn, error) {
	conn, err := l.rounds.Open(l.shut, limit)
	if err == nil && l.peers.tls != nil {
		ctx, cancel := context.WithTimeout(l.shut, limit)
		defer cancel()
		return secure.Client(ctx, conn, l.rounds.Host(), l.peers.tls)
	}
	return conn, err
}

// mayDial reports whether the session may be carried to a server. The caller holds the lock.
func (l *link) mayDial() bool {
	return l.zk != nil && !l.expired && (l.life.Err() == nil || l.ending > 0)
}

// failed takes note of why there is no connection. If all addresses answer in a round, and
// none as ZooKeeper, the link ends.
func (l *link) failed(err error) {
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	ended, wrong := l.rounds.Failed(), l.wrong && (plain || errors.Is(err, errStranger))
	l.wrong = wrong || ended
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		err = errors.New(err.Error()) // it is not the caller's ctx that has ended
	}
	err = fmt.Errorf("%s: %w", l.rounds.Host(), closedEarly(err))
	l.change(func() {
		if l.dialErr = err; ended && wrong && l.session == 0 {
			l.end(&driver.Error{Op: "connect", Store: store, Kind: driver.ErrInvalid, Err: err})
		}
	})
}

// accept takes note of what a server grants. A shorter timeout than before ends the session.
func (l *link) accept(session int64, timeout time.Duration) (err error) {
	l.change(func() {
		switch {
		case session == 0: // it has expired; the library makes an event of that
		case l.session == 0:
			l.session, l.granted, l.begun = session, timeout, l.wire.opened
		case session != l.session || timeout < l.granted && l.ending == 0:
			err = fmt.Errorf("a server has session %016x with a timeout of %v instead of %016x with %v",
				uint64(session), timeout, uint64(l.session), l.granted)
		}
	})
	if err != nil {
		l.lose(err)
	}
	return err
}

// event is the library's callback. It does not block.
func (l *link) event(e gozk.Event) {
	if e.Type != gozk.EventSession {
		l.watches.fired(e.Path, e.Type == gozk.EventNodeDeleted)
		return
	}
	switch e.State {
	case gozk.StateHasSession:
		l.change(func() {
			l.wire.hurry.Stop()
			l.up, l.since, l.dialErr = true, time.Now(), nil
			if !l.trusted {
				l.start(l.introduce)
			}
			if l.ending > 0 {
				l.start(l.wire.endSession)
			}
		})
		l.watches.moved()
	case gozk.StateDisconnected:
		l.change(func() {
			if l.up {
				if time.Since(l.since) > 100*time.Millisecond {
					l.rounds.Reset()
				}
				l.up, l.since = false, time.Now()
			}
		})
	case gozk.StateExpired:
		l.change(func() { l.expired = true })
		l.lose(gozk.ErrSessionExpired)
	}
}

// introduce gives the server the credentials, as the library does on each later connection.
func (l *link) introduce() {
	switch err := l.zk.AddAuth("digest", l.peers.digest); {
	case err == nil:
		l.change(func() { l.trusted = true })
	case errors.Is(err, gozk.ErrAuthFailed):
		l.end(&driver.Error{Op: "authenticate", Store: store, Kind: driver.ErrDenied, Err: err})
	}
}

// lose ends the session for its owner.
func (l *link) lose(cause error) {
	l.end(&driver.Error{Op: "session", Store: store, Key: l.id(), Kind: driver.ErrSessionLost, Err: cause})
}

// writes is told of each message before it is written.
func (l *link) writes(message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for text, f := range l.sending {
		if bytes.Contains(message, []byte(text)) {
			l.start(f)
			delete(l.sending, text)
		}
	}
}

// start is spawn for a caller that holds the lock.
func (l *link) start(f func()) {
	if l.shut.Err() == nil {
		l.calls.Go(f)
	}
}

// saw takes note that what the link reads includes a zxid.
func (l *link) saw(zxid int64) {
	for seen := l.seen.Load(); zxid > seen && !l.seen.CompareAndSwap(seen, zxid); seen = l.seen.Load() {
	}
}

// id is the session's name, once there is one.
func (l *link) id() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return formatSession(l.session)
}

// current returns the connection in use or in the making; nil before the first.
func (l *link) current() *wire {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wire
}

// change makes a change of the state and tells those who wait for one.
func (l *link) change(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
	close(l.changed)
	l.changed = make(chan struct{})
}

// await returns when the condition, called with the lock held, holds, or with ctx's error.
func (l *link) await(ctx context.Context, condition func() bool) error {
	for {
		l.mu.Lock()
		holds, changed := condition(), l.changed
		l.mu.Unlock()
		if holds {
			return nil
		}
		select {
		case <-changed: // if ctx has ended too, the condition comes first
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// dropIfOver closes the connection if life is over, so that pings do not keep the session.
func (l *link) dropIfOver() {
	l.change(func() {
		if l.life.Err() != nil && l.ending == 0 {
			l.wire.drop()
		}
	})
}
