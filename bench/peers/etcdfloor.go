package peers

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coordkit/coordkit/bench/contest"
)

// floorKinds is what the floor of each store has. To hold its lock is to be elected.
var floorKinds = []contest.Kind{contest.Locks, contest.Elections}

// etcdFloor is a client with one lease. An entry is named by the lease and its
// contender, and the name is used again.
type etcdFloor struct {
	client *clientv3.Client
	lease  clientv3.LeaseID
	slots  atomic.Int64
}

func openEtcdFloor(ctx context.Context, d contest.Dial) (contest.Program, error) {
	c, err := dialEtcd(d)
	if err != nil {
		return nil, err
	}
	granted, err := c.Grant(ctx, int64(d.TTL.Seconds()))
	if err != nil {
		return nil, err
	}
	alive, err := c.KeepAlive(c.Ctx(), granted.ID)
	if err != nil {
		return nil, err
	}
	go func() {
		for range alive { // until the client is closed
		}
	}()
	return &etcdFloor{client: c, lease: granted.ID}, nil
}

func (p *etcdFloor) Close() error {
	_, err := p.client.Revoke(context.Background(), p.lease)
	if closing := p.client.Close(); err == nil {
		err = closing
	}
	return err
}

func (p *etcdFloor) Locker(_ context.Context, key string) (contest.Locker, error) {
	return &etcdFloorLock{etcdFloor: p, line: key + "/", own: fmt.Sprintf("%s/%x-%x", key, p.lease, p.slots.Add(1))}, nil
}

type etcdFloorLock struct {
	*etcdFloor
	line, own string
	created   int64 // the entry's revision
}

// Number implements contest.Numbered.
func (l *etcdFloorLock) Number() uint64 { return uint64(l.created) }

// Lock takes one request if nobody is in line: it puts the entry, and gets the
// first in line and the two that came last, which are the one ahead and itself.
// The deletion of the one ahead is the grant if that one was the first; if not,
// it may have given up, and one more read tells.
func (l *etcdFloorLock) Lock(ctx context.Context) error {
	resp, err := l.client.Txn(ctx).Then(
		clientv3.OpPut(l.own, "", clientv3.WithLease(l.lease)),
		clientv3.OpGet(l.line, clientv3.WithFirstCreate()...),
		clientv3.OpGet(l.line, clientv3.WithPrefix(), clientv3.WithLimit(2),
			clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortDescend)),
	).Commit()
	if err != nil {
		return err
	}
	l.created = resp.Header.Revision
	first := resp.Responses[1].GetResponseRange().Kvs[0]
	if string(first.Key) == l.own {
		return nil
	}
	ahead := resp.Responses[2].GetResponseRange().Kvs[1]
	for {
		left, err := l.gone(ctx, ahead)
		if err != nil || ahead.CreateRevision == first.CreateRevision {
			return err
		}
		now, err := l.first(ctx, left)
		if err != nil {
			return err
		}
		if string(now.Kvs[0].Key) == l.own {
			return nil
		}
		ahead, first = now.Kvs[0], now.Kvs[0]
	}
}

// first returns the first in line at a revision. Who is ahead only ever becomes
// fewer, so any member will do that has come so far; one that has not, and even
// the one that told of the revision may not yet have, is asked again.
func (l *etcdFloorLock) first(ctx context.Context, revision int64) (*clientv3.GetResponse, error) {
	get := append(clientv3.WithFirstCreate(), clientv3.WithSerializable(), clientv3.WithRev(revision))
	for {
		resp, err := l.client.Get(ctx, l.line, get...)
		if !errors.Is(err, rpctypes.ErrFutureRev) {
			return resp, err
		}
	}
}

// gone waits until an entry is deleted, and returns a revision that is no older.
// It watches from now on and then looks once: a watch from a revision that has
// passed is served only every 100 ms.
func (l *etcdFloorLock) gone(ctx context.Context, entry *mvccpb.KeyValue) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for resp := range l.client.Watch(ctx, string(entry.Key), clientv3.WithCreatedNotify(), clientv3.WithFilterPut()) {
		if err := resp.Err(); err != nil {
			return 0, err
		}
		if len(resp.Events) > 0 {
			return resp.Events[0].Kv.ModRevision, nil
		}
		if !resp.Created {
			continue
		}
		now, err := l.client.Get(ctx, string(entry.Key), clientv3.WithKeysOnly())
		if err != nil {
			return 0, err
		}
		// One that came later has the name again.
		if len(now.Kvs) == 0 || now.Kvs[0].CreateRevision != entry.CreateRevision {
			return now.Header.Revision, nil
		}
	}
	return 0, fmt.Errorf("watching %s: the watch ended: %w", entry.Key, context.Cause(ctx))
}

func (l *etcdFloorLock) Unlock(ctx context.Context) error {
	_, err := l.client.Delete(ctx, l.own)
	return err
}
