package etcd

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/coordkit/coordkit/coord/driver"
)

// Why a stream is ended from this side.
var (
	errUnneeded = errors.New("nobody waits or observes any more")
	errSilent   = errors.New("the server does not answer")
	errRefused  = errors.New("the server refused or ended a watch")
)

// The pauses before a stream is opened again. The first attempt is made at
// once: most often it was one member that went, and there are others.
const (
	firstReopen   = 50 * time.Millisecond
	longestReopen = 2 * time.Second
)

// mostRefusals is how often in a row a watch, or a stream, may be refused for
// want of a right before it is believed. A token that has expired, or was made
// before the last change of a role, is refused too, and a new stream gets a new
// one.
const mostRefusals = 3

// serve owns the stream while there are subjects: it opens it, and opens it again
// with all watches whenever it breaks. Unlike the client's own watcher it never
// resumes a watch at a past revision, which the server would serve from a list
// that it looks at ten times a second, and which compaction can make
// impossible. It starts again from now, and the subjects that this leaves in
// doubt are settled by one read each.
func (h *feeds) serve() {
	reopen, refusals := time.Duration(0), 0
	for {
		began := time.Now()
		err := h.stream()
		if time.Since(began) > longestReopen {
			reopen, refusals = 0, 0
		}
		denied := kindOf(err, false) == driver.ErrDenied
		if denied {
			refusals++
		}
		if denied || errors.Is(err, errRefused) { // maybe the token is too old
			h.conn.pool.refused()
		}
		if h.over(err, refusals) {
			return
		}
		if errors.Is(err, errUnneeded) {
			continue // somebody came at that moment
		}
		h.conn.log.Debug("the watch broke", zap.Error(err), zap.Duration("pause", reopen))
		sleep(h.ctx, reopen) // if ctx has ended, the next stream finds out
		reopen = min(max(2*reopen, firstReopen), longestReopen)
		reopen = reopen/2 + rand.N(reopen)
	}
}

// over clears up after a stream, and reports whether there is to be no other.
func (h *feeds) over(err error, refusals int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.link = link{}
	why := h.fatal(err, refusals)
	for s := range h.subjects() {
		s.broken()
		switch {
		case why != nil:
			s.fail(why)
			h.forget(s)
		case !s.wanted(time.Now(), 0):
			h.forget(s)
		default:
			h.link.want = append(h.link.want, s)
		}
	}
	h.serving = !h.empty()
	return !h.serving
}

// fatal returns the error for those who wait, if it is no use to go on.
func (h *feeds) fatal(err error, refusals int) error {
	o := op{name: "watch", key: string(h.conn.keyspace)}
	switch {
	case h.ctx.Err() != nil, h.conn.clientClosed():
		return failed(o, driver.ErrClosed, nil)
	case refusals >= mostRefusals:
		return failed(o, driver.ErrDenied, cause(err))
	default:
		return nil
	}
}

// stream is the life of one stream. It returns why the stream is over.
func (h *feeds) stream() error {
	ctx, cancel := context.WithCancelCause(clientv3.WithRequireLeader(h.ctx))
	defer cancel(nil)
	patience := time.AfterFunc(h.timing.answer, func() { cancel(errSilent) })
	stream, err := h.client.Watch(ctx, grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(math.MaxInt32))
	patience.Stop()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.link.watches = make(map[int64]subject)
	h.link.heard = time.Now()
	h.mu.Unlock()
	var receiving sync.WaitGroup
	receiving.Go(func() { h.receive(stream, cancel) })
	err = h.send(ctx, stream, cancel)
	cancel(err)
	receiving.Wait() // it returns with ctx, and nothing comes from this stream after the next has begun
	return err
}

// send sends what is to be sent until the stream ends, and returns why it did.
func (h *feeds) send(ctx context.Context, stream pb.Watch_WatchClient, cancel context.CancelCauseFunc) error {
	tick := time.NewTicker(h.timing.tick)
	defer tick.Stop()
	for {
		requests, err := h.due(time.Now())
		if err != nil {
			return err
		}
		if len(requests) > 0 {
			// A frozen server stops the flow in the end.
			patience := time.AfterFunc(h.timing.answer, func() { cancel(errSilent) })
			for _, r := range requests {
				_ = stream.Send(r) // if it fails, receive learns why
			}
			patience.Stop()
		}
		// Nothing is lost when several are ready: what is due is looked up
		// anew, and an ended stream takes what is sent and ends the next turn.
		select {
		case <-h.wake:
		case <-tick.C:
			h.age(time.Now())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// receive hands on what the server says until the stream ends.
func (h *feeds) receive(stream pb.Watch_WatchClient, cancel context.CancelCauseFunc) {
	for {
		resp, err := stream.Recv()
		if err == nil {
			err = h.handle(resp)
		}
		if err != nil {
			cancel(err)
			return
		}
	}
}
