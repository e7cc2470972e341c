package zk

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	gozk "github.com/go-zookeeper/zk"
	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/internal/batch"
)

// peers is how to reach the store.
type peers struct {
	hosts  []string
	tls    *tls.Config // nil: none
	digest []byte      // "user:password"; nil: none

	// dial opens a connection to a host, without TLS.
	dial func(ctx context.Context, host string) (net.Conn, error)
}

// link is one session of ZooKeeper, with the client library's connection that
// carries it. The library goes from server to server and keeps the session by
// pings. What it does not do, or not well, is done here:
//
//   - A link has one session in its life. When that is over, or the link is
//     retired, no server is dialed any more: the library would open another
//     session, and send under that what still waits to be sent.
//   - Requests are made only while there is a session to make them in. A call
//     that ends before has surely had no effect.
//   - A server that falls silent, or does not finish the handshake, is left for
//     the next one in time. The library waits for two thirds of the timeout, or
//     for ten times that.
type link struct {
	peers   peers
	timing  timing
	log     *zap.Logger
	onOver  func(error) // called once at most, when the session is lost
	watches *watches
	sights  sights
	sharing *batch.Group[*member]
	zk      *gozk.Conn

	ctx    context.Context // ends when no server is to be dialed any more
	cancel context.CancelFunc
	over   chan struct{}  // closed when calls are to end
	gone   chan struct{}  // closed when the library has come to rest
	calls  sync.WaitGroup // goroutines of requests
	losing sync.Once      // guards onOver
	quit   sync.Once      // guards the library's Close
	seen   atomic.Uint64  // see saw

	mu      sync.Mutex
	changed chan struct{} // closed at the next change of what follows
	why     error         // why calls are to end; nil until then
	parting bool          // servers are dialed although the link is retired: to say farewell
	shut    bool          // no request is made any more
	expired bool          // the store says that the session is over
	up      bool          // the session is open on wire
	since   time.Time     // since when it is up
	left    time.Time     // when it was up last
	wire    *wire         // the connection in use or in the making
	asked   bool          // a session was asked for
	session int64         // 0 until it was granted
	granted time.Duration // the timeout, or the longest of several
	begun   time.Time     // when the connection was made by which it was granted
	next    int           // index of the host to dial
	tries   int           // attempts to connect since there was a connection that lasted
	dialed  time.Time     // of the last attempt
	trouble error         // what went wrong last
}

// connect makes a link, which begins at once to ask for a session with the
// timeout ttl, and goes on until shutDown.
func connect(p peers, ttl time.Duration, log *zap.Logger, onOver func(error)) (*link, error) {
	p.hosts = slices.Clone(p.hosts) // not all clients are to begin with the same
	rand.Shuffle(len(p.hosts), func(i, j int) { p.hosts[i], p.hosts[j] = p.hosts[j], p.hosts[i] })
	l := &link{
		peers:   p,
		timing:  timingFor(ttl),
		log:     log,
		onOver:  onOver,
		over:    make(chan struct{}),
		gone:    make(chan struct{}),
		changed: make(chan struct{}),
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.watches = newWatches(l)
	l.sharing = newSharing(l)
	library, events, err := gozk.Connect(p.hosts, ttl,
		gozk.WithDialer(func(_, host string, _ time.Duration) (net.Conn, error) { return l.dial(host) }),
		gozk.WithHostProvider(provider{l}),
		gozk.WithEventCallback(l.event),
		gozk.WithLogger(chatter{log}),
		gozk.WithLogInfo(false),
		gozk.WithMaxConnBufferSize(sendBuffer))
	if err != nil {
		l.cancel()
		return nil, err
	}
	l.zk = library
	go func() { // ends with the library's last goroutine, which shutDown ends
		for range events { // the callback has had them
		}
		close(l.gone)
	}()
	return l, nil
}

// sendBuffer holds the largest request: MaxData, two paths and an access
// control list.
const sendBuffer = 128 << 10

// event is the library's callback. It does not block.
func (l *link) event(e gozk.Event) {
	switch {
	case e.Type == gozk.EventSession && e.State == gozk.StateHasSession:
		l.mu.Lock()
		l.up, l.since, l.trouble = true, time.Now(), nil
		w := l.wire
		l.notify()
		l.mu.Unlock()
		l.watches.moved(w)
		l.sights.moved(w)
	case e.Type == gozk.EventSession && e.State == gozk.StateDisconnected:
		l.mu.Lock()
		if l.up && time.Since(l.since) > lasting {
			l.tries = 0
		}
		if l.up {
			l.left = time.Now()
		}
		l.up = false
		l.notify()
		l.mu.Unlock()
	case e.Type == gozk.EventSession && e.State == gozk.StateExpired:
		l.expire(gozk.ErrSessionExpired)
	}
}

// happened takes the event of a watch.
func (l *link) happened(what gozk.EventType, path string) {
	switch what {
	case gozk.EventNodeDeleted, gozk.EventNodeChildrenChanged:
		l.watches.fired(path, what == gozk.EventNodeDeleted)
		l.sights.fired(path)
	case gozk.EventNodeCreated, gozk.EventNodeDataChanged:
		l.sights.fired(path)
	}
}

// notify tells those who wait for a change. The caller holds the lock.
func (l *link) notify() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// expire takes note that the store says that the session is over.
func (l *link) expire(cause error) {
	l.mu.Lock()
	l.expired = true
	l.notify()
	l.mu.Unlock()
	l.lose(cause)
}

// lose ends the session for its owner. The store may have it still, and is told
// by farewell only.
func (l *link) lose(cause error) {
	l.losing.Do(func() {
		err := failed(op{name: "session", key: l.id()}, driver.ErrSessionLost, cause)
		l.onOver(err)
		l.retire(err)
	})
}

// lasts returns how long the store keeps the session after it was heard of last.
func (l *link) lasts() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.granted
}

// retire ends all calls, with the error given. The store is not told.
func (l *link) retire(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == nil {
		l.why = why
		close(l.over)
		l.notify()
	}
}

// ended returns why calls are to end, or nil.
func (l *link) ended() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

// isUp reports whether the session is open on a connection.
func (l *link) isUp() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.up
}

// current returns the connection in use or in the making; nil before the first.
func (l *link) current() *wire {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wire
}

// id is the session's name, once it is granted.
func (l *link) id() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == 0 {
		return ""
	}
	return formatSession(l.session)
}

// errOver ends a wait for something that will not come any more.
var errOver = errors.New("the session is over")

// await returns when the condition holds, which is called with the lock held
// and looks at what the lock guards. It returns an error when ctx ends, or when
// stop is closed.
func (l *link) await(ctx context.Context, stop <-chan struct{}, condition func() bool) error {
	for {
		l.mu.Lock()
		holds, changed := condition(), l.changed
		l.mu.Unlock()
		if holds {
			return nil
		}
		// Whatever is ready next to changed: the caller is done with waiting.
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-stop:
			return errOver
		}
	}
}
