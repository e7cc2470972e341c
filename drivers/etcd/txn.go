package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
)

// The requests are built in the protocol's own types. Package clientv3 builds
// the same, but hides the error of a call behind that of its ctx, and takes no
// options for a call.

func ifModified(key []byte, revision int64) *pb.Compare {
	return &pb.Compare{
		Target:      pb.Compare_MOD,
		Key:         key,
		TargetUnion: &pb.Compare_ModRevision{ModRevision: revision},
	}
}

// ifCreated with revision 0 says that the key does not exist.
func ifCreated(key []byte, revision int64) *pb.Compare {
	return &pb.Compare{
		Target:      pb.Compare_CREATE,
		Key:         key,
		TargetUnion: &pb.Compare_CreateRevision{CreateRevision: revision},
	}
}

func ifBound(key []byte, lease int64) *pb.Compare {
	return &pb.Compare{
		Target:      pb.Compare_LEASE,
		Key:         key,
		TargetUnion: &pb.Compare_Lease{Lease: lease},
	}
}

func put(key []byte, value []byte, lease int64) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{
		RequestPut: &pb.PutRequest{Key: key, Value: value, Lease: lease},
	}}
}

func remove(key []byte) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{
		RequestDeleteRange: &pb.DeleteRangeRequest{Key: key},
	}}
}

func get(key []byte) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: key}}}
}

func getAll(s span) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: rangeOver(s)}}
}

func rangeOver(s span) *pb.RangeRequest {
	return &pb.RangeRequest{Key: []byte(s.from), RangeEnd: []byte(s.to)}
}

// found returns what the i-th operation of a transaction, a range, has found.
func found(resp *pb.TxnResponse, i int) []*mvccpb.KeyValue {
	return resp.Responses[i].GetResponseRange().GetKvs()
}

// foundOne is found for a single key; nil if it does not exist.
func foundOne(resp *pb.TxnResponse, i int) *mvccpb.KeyValue {
	if kvs := found(resp, i); len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}

func (c *conn) txn(ctx context.Context, o op, req *pb.TxnRequest) (*pb.TxnResponse, error) {
	resp := new(pb.TxnResponse)
	if err := c.do(ctx, o, pb.KV_Txn_FullMethodName, req, resp); err != nil {
		return nil, err
	}
	c.saw(resp.Header)
	return resp, nil
}

func (c *conn) read(ctx context.Context, o op, req *pb.RangeRequest) (*pb.RangeResponse, error) {
	resp := new(pb.RangeResponse)
	if err := c.do(ctx, o, pb.KV_Range_FullMethodName, req, resp); err != nil {
		return nil, err
	}
	c.saw(resp.Header)
	return resp, nil
}

// saw takes note of what a server says of itself in an answer.
func (c *conn) saw(h *pb.ResponseHeader) {
	c.pool.saw(h)
}

// delete deletes a key, or does nothing if there is none.
func (c *conn) delete(ctx context.Context, o op, key []byte) error {
	resp := new(pb.DeleteRangeResponse)
	if err := c.do(ctx, o, pb.KV_DeleteRange_FullMethodName, &pb.DeleteRangeRequest{Key: key}, resp); err != nil {
		return err
	}
	c.saw(resp.Header)
	return nil
}
