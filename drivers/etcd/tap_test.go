package etcd

import (
	"context"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"path"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// tap counts what a client sends, and lets a test step in. It sits below the
// client's own retries, so it sees every request that goes out.
type tap struct {
	mu    sync.Mutex
	count map[string]int // by method, as "Txn"; streams by "Watch"
	step  func(c call) error
	gate  <-chan struct{} // streams are not opened before it is closed; may be nil
}

// call is a unary request on its way.
type call struct {
	ctx    context.Context
	method string
	req    any
	reply  any                             // filled in when pass has returned
	pass   func(ctx context.Context) error // sends it and waits for the reply
}

// writes reports whether a request has more than ranges.
func writes(req any) bool {
	txn, ok := req.(*pb.TxnRequest)
	if !ok {
		return false
	}
	for _, op := range txn.Success {
		if op.GetRequestRange() == nil {
			return true
		}
	}
	return false
}

func newTap() *tap { return &tap{count: make(map[string]int)} }

func (t *tap) options() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(t.unary), grpc.WithChainStreamInterceptor(t.stream)}
}

func (t *tap) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	t.mu.Lock()
	name := path.Base(method)
	if name == "Txn" && !writes(req) {
		name = "Range"
	}
	t.count[name]++
	step := t.step
	t.mu.Unlock()
	if step == nil {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	return step(call{
		ctx:    ctx,
		method: path.Base(method),
		req:    req,
		reply:  reply,
		pass:   func(ctx context.Context) error { return invoke(ctx, method, req, reply, cc, opts...) },
	})
}

func (t *tap) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	t.mu.Lock()
	t.count[path.Base(method)]++
	gate := t.gate
	t.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
	s, err := open(ctx, desc, cc, method, opts...)
	if err == nil && path.Base(method) == "LeaseKeepAlive" {
		s = renewals{s, t}
	}
	return s, err
}

// renewals counts the answers.
type renewals struct {
	grpc.ClientStream
	tap *tap
}

func (r renewals) RecvMsg(m any) error {
	err := r.ClientStream.RecvMsg(m)
	if err == nil {
		r.tap.mu.Lock()
		defer r.tap.mu.Unlock()
		r.tap.count["renewed"]++
	}
	return err
}

// intercept has every unary request go through step; nil ends that.
func (t *tap) intercept(step func(c call) error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.step = step
}

// during returns what was sent while fn ran.
func (t *tap) during(fn func()) map[string]int {
	t.mu.Lock()
	before := make(map[string]int)
	for k, v := range t.count {
		before[k] = v
	}
	t.mu.Unlock()
	fn()
	t.mu.Lock()
	defer t.mu.Unlock()
	diff := make(map[string]int)
	for k, v := range t.count {
		if v > before[k] {
			diff[k] = v - before[k]
		}
	}
	return diff
}

// sent is how often a method was called so far.
func (t *tap) sent(method string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count[method]
}

// holdStreams keeps streams from being opened until release is called.
func (t *tap) holdStreams() (release func()) {
	gate := make(chan struct{})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gate = gate
	return func() { close(gate) }
}
