package etcd

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/coordkit/coordkit/coord/driver/attempt"
)

// wire makes the calls of gRPC over the connection of a clientv3.Client, and adds what the
// client lacks:
//
//   - A mute connection takes requests, and no answer comes. gRPC finds that out after 13 s.
//     When a call begins while another has waited for patience, and nothing has come since,
//     the wire goes on with a new client (S3). A watch on one is silent for ever (W5).
//   - The client does not tell whether a failed request was sent (E2).
//   - The client repeats what was ended by code Canceled or DeadlineExceeded, and a program's
//     interceptors may repeat more. The first could land after the second was answered, so a
//     request that was sent is cut (C2).
//   - The client resumes a broken watch and does not tell. If the store was set back
//     meanwhile, the watch waits for revisions of its former life (V3).
type wire struct {
	dial     func() (*link, error) // makes a new client; nil: the client is the program's own
	run      func(func()) bool     // runs a goroutine, unless the connection is closed
	log      *zap.Logger
	start    time.Time
	quiet    time.Duration // after how much silence a stream of watches is tested
	answer   time.Duration // how long the answer to that may take
	patience atomic.Int64  // a time.Duration

	mu      sync.Mutex
	link    *link         // for calls that begin
	dialing chan struct{} // closed when the dialing has ended; nil: nobody dials
}

// link is one client. When it is replaced its streams end, and after its last call it is closed.
type link struct {
	client  *clientv3.Client
	close   func()          // no call is under way then
	calls   int             // the wire's lock guards it
	asked   atomic.Int64    // since when an answer is due and nothing has come; 0: none is
	current context.Context // ends when the link is replaced
	replace context.CancelFunc
}

var anySize = grpc.MaxCallRecvMsgSize(math.MaxInt32) // a directory may exceed gRPC's 4 MiB

// Patience is a tenth of the shortest TTL: two renewals that get no answer are farther apart.
const leastPatience, mostPatience = 200 * time.Millisecond, time.Second

func newWire(first *link, dial func() (*link, error), run func(func()) bool, log *zap.Logger) *wire {
	w := &wire{dial: dial, run: run, log: log, start: time.Now(), quiet: 3 * time.Second, answer: 5 * time.Second, link: first}
	w.patience.Store(int64(mostPatience))
	return w
}

// serves takes note of a session's TTL.
func (w *wire) serves(ttl time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.patience.Store(min(w.patience.Load(), int64(max(leastPatience, ttl/10))))
}

func (w *wire) now() int64 { return 1 + int64(time.Since(w.start)) } // never 0

// begin returns the link for a call, and takes note that an answer is due since a moment.
// The caller calls done.
func (w *wire) begin(ctx context.Context) (l *link, since int64, err error) {
	for {
		w.mu.Lock()
		l, since = w.link, w.now()
		asked := l.asked.Load()
		mute := w.dial != nil && asked != 0 && since-asked >= w.patience.Load()
		if mute && w.dialing == nil {
			w.dialing = make(chan struct{})
			if !w.run(w.redial) {
				w.dialing, mute = nil, false
			}
		}
		if !mute {
			l.calls++
			w.mu.Unlock()
			l.asked.CompareAndSwap(0, since)
			return l, since, nil
		}
		dialing := w.dialing
		w.mu.Unlock()
		select {
		case <-dialing:
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
}

// redial replaces the link. With a password that takes a while: the client asks for a token.
func (w *wire) redial() {
	l, err := w.dial()
	w.mu.Lock()
	close(w.dialing)
	w.dialing = nil
	old := w.link
	w.log.Info("the connection is mute; connecting anew", zap.Strings("endpoints", old.client.Endpoints()), zap.Error(err))
	old.calls++
	if err == nil {
		w.link = l
		old.replace()
	} else {
		old.asked.Store(w.now()) // again when patience has passed
	}
	w.mu.Unlock()
	w.done(old)
}

// done ends a call. A link that was replaced is closed after its last.
func (w *wire) done(l *link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l.calls--
	if l != w.link && l.calls == 0 && !w.run(l.close) {
		l.close()
	}
}

func (w *wire) close() {
	w.link.replace()
	w.link.close()
}

const pause = 100 * time.Millisecond // between two tries of a call that had no effect

// Invoke implements grpc.ClientConnInterface. As long as the call is surely without effect
// it is tried again, until ctx is about to end.
func (w *wire) Invoke(ctx context.Context, method string, req, reply any, opts ...grpc.CallOption) error {
	for why := error(nil); ; {
		again, err := w.once(ctx, method, req, reply, opts)
		if again && ctx.Err() != nil && why != nil {
			return why // it says more than that ctx has ended
		}
		if due, bounded := ctx.Deadline(); !again || bounded && time.Until(due) <= pause {
			return err
		}
		why = err
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

func (w *wire) once(ctx context.Context, method string, req, reply any, opts []grpc.CallOption) (again bool, err error) {
	l, since, err := w.begin(ctx)
	if err != nil {
		return true, attempt.NotSent(err)
	}
	defer w.done(l)
	answered := false
	defer func() { // what was given up soon tells nothing of the link
		if answered || w.now()-since < w.patience.Load() && l.asked.Load() == since {
			l.asked.Store(0)
		}
	}()
	conn := l.client.ActiveConnection()
	if err = reach(ctx, conn); err != nil {
		return ctx.Err() != nil, err
	}
	// A member that is cut off from the others refuses then, and does not wait for them.
	inner, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	var to peer.Peer // is known only if the request was given to a connection
	cut := grpc.OnFinish(func(err error) {
		if err != nil && to.Addr != nil && !isAnswer(err) {
			cancel()
		}
	})
	err = conn.Invoke(inner, method, req, reply, append(opts, grpc.Peer(&to), cut, anySize)...)
	code := status.Code(err)
	answered = err == nil || code != codes.Canceled && code != codes.DeadlineExceeded && ctx.Err() == nil
	switch {
	case err == nil || to.Addr != nil:
	case ctx.Err() != nil:
		return true, attempt.NotSent(ctx.Err())
	case code == codes.Unavailable:
		return !notEtcd(err), attempt.NotSent(cause(err))
	}
	return err != nil && isAny(err, refusals...), err
}

// reach waits until there is a connection, or the reason why there is none.
func reach(ctx context.Context, conn *grpc.ClientConn) error {
	for {
		state := conn.GetState()
		switch state {
		case connectivity.Ready, connectivity.TransientFailure:
			return nil
		case connectivity.Shutdown:
			return errClientClosed
		}
		conn.Connect() // if it is idle
		if !conn.WaitForStateChange(ctx, state) {
			return attempt.NotSent(ctx.Err())
		}
	}
}

// NewStream implements grpc.ClientConnInterface. It is bounded: the client's contexts do not end.
func (w *wire) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer time.AfterFunc(w.quiet+w.answer, cancel).Stop()
	l, since, err := w.begin(ctx)
	if err != nil {
		cancel()
		return nil, &brokenStream{err}
	}
	replaced := context.AfterFunc(l.current, cancel)
	context.AfterFunc(ctx, func() { replaced(); w.done(l) })
	s := &stream{wire: w, link: l, cancel: cancel}
	s.heard.Store(since)
	conn := l.client.ActiveConnection()
	if err = reach(ctx, conn); err == nil {
		s.ClientStream, err = conn.NewStream(ctx, desc, method, append(opts, anySize)...)
	}
	if err != nil {
		cancel()
		return nil, &brokenStream{err}
	}
	if method == pb.Watch_Watch_FullMethodName {
		w.run(func() { s.attend(ctx) })
	}
	return s, nil
}

// stream is a stream of watches or of renewals.
type stream struct {
	grpc.ClientStream
	wire    *wire
	link    *link
	cancel  context.CancelFunc
	sending sync.Mutex
	heard   atomic.Int64
}

func (s *stream) SendMsg(m any) error {
	s.link.asked.CompareAndSwap(0, s.wire.now())
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.ClientStream.SendMsg(m)
}

// RecvMsg hides the status of an error, which makes the client end its watches.
func (s *stream) RecvMsg(m any) error {
	if err := s.ClientStream.RecvMsg(m); err != nil {
		s.cancel()
		return &brokenStream{err}
	}
	s.link.asked.Store(0)
	s.heard.Store(s.wire.now())
	if r, ok := m.(*pb.WatchResponse); ok && isStale(r.CancelReason) {
		s.cancel() // the client asks for a token with each stream, and not for later watches
		return &brokenStream{errors.New("the token has expired")}
	}
	return nil
}

// attend asks a silent server for a sign of life, and gives the stream up if none comes.
func (s *stream) attend(ctx context.Context) {
	tick := time.NewTicker(s.wire.quiet / 4)
	defer tick.Stop()
	for asked := int64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch heard, now := s.heard.Load(), s.wire.now(); {
		case asked > heard && now-asked >= int64(s.wire.answer):
			s.cancel()
		case asked <= heard && now-heard >= int64(s.wire.quiet):
			asked = now
			s.wire.run(func() { // it waits if there is no room to send
				_ = s.SendMsg(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{ProgressRequest: &pb.WatchProgressRequest{}}})
			})
		}
	}
}
