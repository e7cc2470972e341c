package etcd

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/coordkit/coordkit/coord/driver"
)

// op is a call of the driver's interface, as far as its requests need to know
// it.
type op struct {
	name, key string
	write     bool            // it changes something in the store
	limit     time.Duration   // of each attempt
	life      context.Context // of the session, or else of the connection: calls end with it
}

var callOptions = []grpc.CallOption{
	grpc.WaitForReady(true),                // in case that the connection is lost just now
	grpc.MaxCallRecvMsgSize(math.MaxInt32), // a directory may well exceed gRPC's 4 MiB
}

// do makes one attempt of a request, and fills in the reply. It returns within moments of
// the end of ctx, of o.limit and of o.life: gRPC waits for a connection, for room to send
// and for the answer with an eye on its ctx, and so does the wait for a new token between
// two attempts, and the pool.
//
// The limit is there so that the next attempt can go to another member: gRPC takes the
// members in turns, and knows nothing of one that is frozen, and the pool gives up the one
// that it has.
func (c *conn) do(ctx context.Context, o op, method string, req, reply proto.Message) error {
	if c.ctx.Err() != nil {
		return failed(o, driver.ErrClosed, nil)
	}
	if ctx.Err() != nil { // nothing is sent, so nothing has to be cleared up
		return failed(o, driver.ErrUnavailable, driver.ContextError(ctx))
	}
	attempt, cancel := context.WithCancel(ctx)
	defer cancel()
	// A limit is not the deadline of a ctx, which gRPC would tell the server with every
	// request, to no use (a caller's it does).
	defer c.limits.Begin(o.limit, cancel).End()
	stop := context.AfterFunc(o.life, cancel)
	defer stop()
	cut := false
	sent, err := c.pool.ask(ctx, attempt, method, req, reply)
	if !sent {
		if !c.reach(attempt) {
			return c.unreached(ctx, o)
		}
		cut, err = c.ask(attempt, cancel, o, method, req, reply)
	}
	if err == nil {
		return nil
	}
	if due, ok := ctx.Deadline(); ok && !time.Now().Before(due) {
		// By gRPC the server knows the deadline too, and may say so before ctx does. But if the
		// clock has been set since ctx was made, its timer may run for long.
		soon := time.NewTimer(sameMoment)
		select { // what follows looks at ctx
		case <-ctx.Done():
		case <-soon.C:
		}
		soon.Stop()
	}
	switch {
	case ctx.Err() != nil && o.write:
		return failed(o, driver.ErrUncertain, driver.ContextError(ctx))
	case ctx.Err() != nil:
		return failed(o, nil, driver.ContextError(ctx))
	case c.ctx.Err() != nil, c.clientClosed():
		return failed(o, driver.ErrClosed, nil)
	case attempt.Err() != nil && !cut && isOver(err):
		return failed(o, kindOf(err, o.write), fmt.Errorf("no answer within %v", o.limit))
	default:
		return failed(o, kindOf(err, o.write), cause(err))
	}
}

// ask sends a request by gRPC.
//
// One that writes is sent once: of the first of two, which may land after the second was
// answered, nobody would ever hear. Package clientv3 takes an end that the ctx has not
// called for, as when a stream is reset, for that of an attempt of its own, and a program's
// interceptors may try again what has failed. So ctx is cut then, and they have no more to
// try.
func (c *conn) ask(ctx context.Context, cancel func(), o op, method string, req, reply proto.Message) (cut bool, err error) {
	var done atomic.Bool
	once := grpc.OnFinish(func(err error) {
		if err != nil && ctx.Err() == nil && kindOf(err, o.write) == driver.ErrUncertain {
			done.Store(true)
			cancel()
		}
	})
	inner := ctx
	if c.others {
		// A member that is cut off from the others is to say so at once, instead
		// of waiting for a majority that it cannot reach. Where the URL names one
		// host the next attempt would go there as well.
		inner = clientv3.WithRequireLeader(ctx)
	}
	err = c.channel.Invoke(inner, method, req, reply, append(slices.Clip(callOptions), once)...)
	return done.Load(), err
}

// sameMoment is how much earlier than ctx a server may notice a deadline.
const sameMoment = 50 * time.Millisecond

// isOver reports whether err says that the call was ended, and nothing of the
// server's. An interceptor may say so by the error of the ctx itself.
func isOver(err error) bool {
	switch status.FromContextError(err).Code() {
	case codes.Canceled, codes.DeadlineExceeded:
		return true
	}
	code := status.Code(err)
	return code == codes.Canceled || code == codes.DeadlineExceeded
}

// reach waits until there is a connection, and reports false if ctx ended
// first. What is not handed to gRPC before there is one has surely not been
// sent. Once it is handed over, nothing is sure any more: there may be
// interceptors of the program's own, and gRPC does not tell what it has sent.
func (c *conn) reach(ctx context.Context) bool {
	for {
		state := c.channel.GetState()
		switch state {
		case connectivity.Ready:
			return true
		case connectivity.Shutdown:
			return false
		case connectivity.Idle:
			c.channel.Connect()
		}
		if !c.channel.WaitForStateChange(ctx, state) {
			return false
		}
	}
}

// unreached makes the error of an attempt that found no connection.
func (c *conn) unreached(ctx context.Context, o op) error {
	why := driver.ContextError(ctx)
	switch {
	case why != nil:
	case c.ctx.Err() != nil, c.clientClosed():
		return failed(o, driver.ErrClosed, nil)
	default:
		why = fmt.Errorf("no connection within %v", o.limit)
	}
	if c.channel.GetState() == connectivity.TransientFailure {
		// gRPC tells what is wrong to those who do not wait for a connection.
		// The request is of no consequence, should it find one after all.
		ctx, cancel := context.WithTimeout(c.ctx, 10*time.Millisecond)
		defer cancel()
		probe := &pb.RangeRequest{Key: []byte{0}, CountOnly: true, Serializable: true}
		if _, err := pb.NewKVClient(c.channel).Range(ctx, probe); err != nil {
			why = fmt.Errorf("%w: %w", why, cause(err))
		}
	}
	return failed(o, driver.ErrUnavailable, why)
}

// clientClosed reports whether the caller of New has closed the client.
func (c *conn) clientClosed() bool { return c.channel.GetState() == connectivity.Shutdown }
