package etcd

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
	"github.com/coordkit/coordkit/coord/driver/sessions"
)

// store is the requests that the driver makes, through the interfaces of clientv3.
type store struct {
	keys     keyspace
	sessions *sessions.Keeper
	wire     *wire
	kv       clientv3.KV
	leases   clientv3.Lease
	renewals pb.LeaseClient // the client's own renewals do not tell when they were sent
	watcher  clientv3.Watcher
	check    time.Duration // how often waits and watches are compared with the store, about
}

func newStore(namespace string, keeper *sessions.Keeper, w *wire) *store {
	lease := pb.NewLeaseClient(w)
	bare := clientv3.NewCtxClient(keeper.Life()) // it gives the interfaces a silent logger
	return &store{
		keys: keyspace(namespace), sessions: keeper, wire: w,
		kv:       clientv3.NewKVFromKVClient(pb.NewKVClient(w), bare),
		leases:   clientv3.NewLeaseFromLeaseClient(lease, bare, 0),
		renewals: lease,
		watcher:  clientv3.NewWatchFromWatchClient(pb.NewWatchClient(w), bare),
		check:    30 * time.Second,
	}
}

// close is called when no goroutine of the keeper runs any more.
func (s *store) close() {
	_ = s.watcher.Close()
	_ = s.leases.Close()
	s.wire.close()
}

// read describes a read that no session makes.
func read(name, dir string) attempt.Op {
	return attempt.Op{Store: scheme, Name: name, Key: dir, Limit: 5 * time.Second}
}

// list lists a directory, as part of a request of attempt.Op.Do. The read is linearizable,
// hence L5. The revision is that of the list.
func (s *store) list(ctx context.Context, o attempt.Op, dir string, opts ...clientv3.OpOption) ([]driver.Node, int64, error) {
	r, err := s.kv.Get(ctx, s.keys.prefix(dir), append(opts, clientv3.WithPrefix())...)
	if err != nil {
		return nil, 0, answer(o, err)
	}
	return s.keys.nodes(dir, r.Kvs, r.Header.Revision), r.Header.Revision, nil
}

// checkLater says when waits and watches are to be compared with the store.
func (s *store) checkLater() *time.Timer {
	return time.NewTimer(s.check*3/4 + rand.N(s.check/2))
}

// errCheck ends what follows the store, which begins anew then: servers have lost events.
var errCheck = errors.New("compared with the store")

// unavailable is why a watch broke, as something that passes, unless the server has told.
func unavailable(o attempt.Op, err error) error {
	if known, ok := errors.AsType[*driver.Error](err); ok {
		return known
	}
	return o.Failed(driver.ErrUnavailable, err)
}

// watch opens a watch. It tells of every event of the keys after the revision that it
// returns. It begins at the present: a watch that begins in the past the server serves
// from a list that it works off ten times a second. It ends with ctx.
func (s *store) watch(ctx context.Context, o attempt.Op, key string, opts ...clientv3.OpOption) (clientv3.WatchChan, int64, error) {
	inner, end := context.WithCancel(s.sessions.Life())
	opened := make(chan clientv3.WatchChan, 1)
	if !s.sessions.Go(func() {
		defer end()
		// The client leaves a watch at the server which is canceled before it is open.
		opened <- s.watcher.Watch(inner, key, append(opts, clientv3.WithCreatedNotify())...)
		<-ctx.Done()
	}) {
		end()
		return nil, 0, o.Failed(driver.ErrClosed, nil)
	}
	var events clientv3.WatchChan
	select {
	case events = <-opened:
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	first, err := next(ctx, o, events)
	return events, first.Header.GetRevision(), err
}

// next returns the next response of a watch, or why there is none.
func next(ctx context.Context, o attempt.Op, events <-chan clientv3.WatchResponse) (r clientv3.WatchResponse, err error) {
	select {
	case r, ok := <-events:
		if !ok {
			return r, errors.New("the watch has ended")
		}
		return r, answer(o, r.Err())
	case <-ctx.Done():
		return r, ctx.Err()
	}
}

// memory is what a client knows of a directory without a request.
type memory struct {
	line []driver.Node    // the directory as it was at the revision at
	at   int64            // 0: nothing is known
	gone map[string]int64 // the revisions of later deletions, by key
}

// listed takes note of the directory as it was at a revision.
func (m *memory) listed(nodes []driver.Node, revision int64) {
	if revision > m.at {
		m.line, m.at = slices.Clone(nodes), revision
		maps.DeleteFunc(m.gone, func(_ string, deleted int64) bool { return deleted <= revision })
	}
}

// lists reports whether a node was there at the latest list.
func (m *memory) lists(n driver.Node) bool {
	i, ok := slices.BinarySearchFunc(m.line, n.Seq, func(n driver.Node, seq uint64) int { return cmp.Compare(n.Seq, seq) })
	return ok && m.line[i].Same(n)
}

// isGone reports whether a node is known to be gone.
func (m *memory) isGone(n driver.Node) bool {
	return m.gone[n.Key] > int64(n.Token) || int64(n.Token) <= m.at && !m.lists(n)
}

// upTo returns the nodes up to a Seq, without data. They are known if the directory was listed
// when the last of them was there.
func (m *memory) upTo(last uint64) (nodes []driver.Node, known bool) {
	for _, n := range m.line {
		if n.Seq <= last && m.gone[n.Key] <= int64(n.Token) {
			n.Data = nil // it may have been updated
			nodes = append(nodes, n)
		}
	}
	return nodes, uint64(m.at) >= last
}
