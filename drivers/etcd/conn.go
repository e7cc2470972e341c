package etcd

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
	"github.com/coordkit/coordkit/coord/driver/lease"
	"github.com/coordkit/coordkit/coord/driver/sessions"
	"github.com/coordkit/coordkit/coord/driver/watch"
)

// What etcd can grant: whole seconds, up to lease.MaxLeaseTTL of its server. How little it
// grants depends on the servers' election timeout.
const (
	minTTL = time.Second
	maxTTL = 9_000_000_000 * time.Second
)

// conn implements driver.Conn and driver.Watcher.
type conn struct {
	*store
	waits *waits
}

func newConn(namespace string, keeper *sessions.Keeper, w *wire) *conn {
	s := newStore(namespace, keeper, w)
	return &conn{s, newWaits(s)}
}

// Caps implements driver.Conn.
func (c *conn) Caps() driver.Caps {
	return driver.CapCreateList | driver.CapListNames | driver.CapWaitAny | driver.CapWatch | driver.CapShared | driver.CapDurable
}

// Close implements driver.Conn.
func (c *conn) Close() error {
	c.sessions.Close(c.store.close)
	return nil
}

// OpenSession implements driver.Conn. A lease whose grant was in doubt is renewed by nobody,
// and ends with its TTL.
func (c *conn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	o := attempt.Op{Store: scheme, Name: "open session", Write: true, Limit: min(ttl/3, 5*time.Second)}
	if err := driver.CheckTTL(ttl, minTTL, maxTTL); err != nil {
		return nil, o.Failed(nil, err)
	}
	if ttl%time.Second != 0 {
		return nil, o.Failed(driver.ErrInvalid, fmt.Errorf("TTL: %v; etcd grants whole seconds from %v to %v", ttl, minTTL, maxTTL))
	}
	sent := time.Now()
	var r *clientv3.LeaseGrantResponse
	err := o.Do(ctx, c.sessions.Life(), func(ctx context.Context) (err error) {
		r, err = c.leases.Grant(ctx, int64(ttl/time.Second))
		return answer(o, err)
	})
	if err != nil {
		return nil, err
	}
	s := &session{store: c.store, waits: c.waits, lease: r.ID}
	granted := time.Duration(r.TTL) * time.Second
	err = c.sessions.Open(&s.Session, sessions.Config{
		Lease:  lease.Config{Session: formatLease(int64(r.ID)), TTL: granted, Sent: sent, Renew: s.renew},
		Revoke: s.revoke,
	})
	if err != nil {
		return nil, err
	}
	if granted != ttl {
		_ = s.Close(ctx) // or it expires
		return nil, o.Failed(driver.ErrInvalid, fmt.Errorf("TTL: %v; the least that this etcd grants is %v, because of its election timeout", ttl, granted))
	}
	c.wire.serves(ttl)
	return s, nil
}

// List implements driver.Conn.
func (c *conn) List(ctx context.Context, dir string) (nodes []driver.Node, err error) {
	o := read("list", dir)
	err = o.Do(ctx, c.sessions.Life(), func(ctx context.Context) (err error) {
		nodes, _, err = c.list(ctx, o, dir)
		return err
	})
	return nodes, err
}

// Watch implements driver.Watcher by a watch of all events of the directory.
func (c *conn) Watch(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
	return func(yield func([]driver.Node, error) bool) {
		v := &view{store: c.store}
		watch.NewHub(scheme, c.sessions, v.follow).Watch(ctx, dir)(yield)
	}
}

// view is a directory as an observer is shown it. A revision that is lower than one before
// tells that the store was set back, or came back empty. What it has now is shown all the
// same: for the hub, which takes a lower number for an older state, the lead is added.
type view struct {
	*store
	kvs      map[string]*mvccpb.KeyValue
	at, lead int64
}

// follow is a watch.Follow. The watch is open before the list is read, so nothing is lost
// in between.
func (v *view) follow(ctx context.Context, dir string, show func(watch.List)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o := read("watch", dir)
	events, _, err := v.watch(ctx, o, v.keys.prefix(dir), clientv3.WithPrefix())
	if err != nil {
		return unavailable(o, err)
	}
	changed, err := v.look(ctx, o, dir)
	if err != nil {
		return err
	}
	again := v.checkLater()
	defer again.Stop()
	for {
		if changed {
			show(watch.List{Nodes: v.keys.nodes(dir, slices.Collect(maps.Values(v.kvs)), v.at), At: uint64(v.at + v.lead)})
		}
		select {
		case r, ok := <-events:
			if !ok || r.Err() != nil {
				return unavailable(o, answer(o, r.Err()))
			}
			changed = v.apply(r.Events)
		case <-again.C:
			return unavailable(o, errCheck)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// look reads the directory, and reports whether that is news.
func (v *view) look(ctx context.Context, o attempt.Op, dir string) (changed bool, err error) {
	var r *clientv3.GetResponse
	err = o.Do(ctx, v.sessions.Life(), func(ctx context.Context) (err error) {
		r, err = v.kv.Get(ctx, v.keys.prefix(dir), clientv3.WithPrefix())
		return answer(o, err)
	})
	if err != nil {
		return false, err
	}
	kvs := make(map[string]*mvccpb.KeyValue, len(r.Kvs))
	for _, kv := range r.Kvs {
		kvs[string(kv.Key)] = kv
	}
	changed = v.at == 0 || !maps.EqualFunc(kvs, v.kvs, func(a, b *mvccpb.KeyValue) bool { return a.ModRevision == b.ModRevision })
	v.lead += max(0, v.at-r.Header.Revision)
	v.kvs, v.at = kvs, r.Header.Revision
	return changed, nil
}

// apply makes the changes that are newer than what was read.
func (v *view) apply(events []*clientv3.Event) (changed bool) {
	read := v.at
	for _, e := range events {
		switch {
		case e.Kv.ModRevision <= read:
			continue
		case e.Type == clientv3.EventTypeDelete:
			delete(v.kvs, string(e.Kv.Key))
		default:
			v.kvs[string(e.Kv.Key)] = e.Kv
		}
		v.at, changed = e.Kv.ModRevision, true
	}
	return changed
}
