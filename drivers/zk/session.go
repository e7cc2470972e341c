package zk

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
	"github.com/coordkit/coordkit/coord/driver/fence"
	"github.com/coordkit/coordkit/coord/driver/lease"
	"github.com/coordkit/coordkit/coord/driver/sessions"
	"github.com/coordkit/coordkit/coord/driver/watch"
)

// session implements driver.Session, driver.CreateLister, driver.NameLister, driver.AnyWaiter.
type session struct {
	sessions.Session
	link  *link
	tree  *tree
	fence fence.Position // see fenced
	nonce atomic.Uint64  // of the latest node's name

	mu    sync.Mutex
	slots map[slotKey]slot // those of which there is something to know
}

type slotKey struct{ dir, id string }

// slot is what is known of a directory's id.
type slot struct {
	base  string // the name of the node that stands in it; "" if there is none
	doubt bool   // the reply to a deletion of that node or, if there is none, to a Create was lost
}

func (s *session) slot(k slotKey) slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slots[k]
}

// setSlot changes a slot, if the node that stands in it is base.
func (s *session) setSlot(k slotKey, base string, to slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.slots[k].base != base:
	case to == slot{}:
		delete(s.slots, k)
	default:
		s.slots[k] = to
	}
}

// renewal is how to keep the lease of a link's session. Followers tell the leader twice in a
// tick which sessions live. If one breaks down right after an answer, that news is lost: so
// the last renewal but one counts.
func renewal(l *link, ttl time.Duration) sessions.Config {
	id := l.id()
	return sessions.Config{
		Lease: lease.Config{
			Session: id, TTL: ttl, Sent: l.begun, Interval: ttl / 6, Discount: 1,
			Renew: func(ctx context.Context) error {
				return answered(attempt.Op{Store: store, Name: "renew", Key: id}, agree(ctx, l))
			},
		},
		Revoke: l.endSession,
	}
}

// attend ends the session when the store says so, and then its link. Until the store has ended
// the session, its owner may still close it.
func (s *session) attend(life context.Context) {
	l := s.link
	select { // if both have happened, either will do: the lease keeps the first reason
	case <-s.Done():
	case <-l.life.Done():
		s.Lost(context.Cause(l.life))
	}
	wait := func(d time.Duration, until func() bool) bool {
		ctx, cancel := context.WithTimeout(life, d)
		defer cancel()
		return l.await(ctx, until) == nil
	}
	if errors.Is(s.Err(), driver.ErrClosed) { // Close tells the store before the link is dropped
		wait(time.Second, func() bool { return l.ending > 0 || l.expired })
	}
	l.lose(s.Err()) // for observers, who go on by another link
	wait(l.granted, func() bool { return l.expired })
	_ = l.await(life, func() bool { return l.ending == 0 })
	l.shutDown()
}

// establish waits for the session, checks what was granted, and makes the fence.
func (s *session) establish(ctx context.Context, o attempt.Op, ttl time.Duration) error {
	_, err := call(ctx, s.link, func(c *gozk.Conn) (struct{}, error) {
		if granted := s.link.granted; granted != ttl {
			return struct{}{}, invalid(o, "TTL: %v; the nearest that this ZooKeeper grants, by its configuration, is %v", ttl, granted)
		}
		return struct{}{}, s.tree.ensure(c, s.tree.acl, s.tree.fence(s.link.id(), 0))
	})
	return err
}

// do makes one attempt of a request in the session.
func do[T any](ctx context.Context, s *session, o attempt.Op, request func(ctx context.Context) (T, error)) (value T, err error) {
	err = s.Do(ctx, o, func(ctx context.Context) (err error) {
		value, err = request(ctx)
		return answered(o, err)
	})
	return value, err
}

// library makes one attempt of a request of the library.
func library[T any](ctx context.Context, s *session, o attempt.Op, request func(*gozk.Conn) (T, error)) (T, error) {
	return do(ctx, s, o, func(ctx context.Context) (T, error) { return call(ctx, s.link, request) })
}

// fenced makes a transaction guarded by the fence, whose result is the first (see package fence).
func (s *session) fenced(ctx context.Context, o attempt.Op, move bool, ops ...any) (results []gozk.MultiResponse, err error) {
	err = s.fence.Do(move, func(at uint64, move bool) (uint64, bool, error) {
		path, next := s.tree.fence(s.ID(), at), at
		var first any = &gozk.CheckVersionRequest{Path: path, Version: int32(at)}
		if move {
			first, next = &gozk.SetDataRequest{Path: path, Version: int32(at)}, at+1
		}
		var err error
		results, err = do(ctx, s, o, func(ctx context.Context) ([]gozk.MultiResponse, error) {
			return multi(ctx, s.link, append([]any{first}, ops...)...)
		})
		missed := errors.Is(err, gozk.ErrBadVersion) || errors.Is(err, gozk.ErrNoNode)
		if missed && len(results) > 0 && results[0].Error != nil {
			at, err = s.locate(ctx, o, at)
			return at, false, err
		}
		return next, err == nil, err
	})
	return results, err
}

// locate returns where the fence stands, and builds another one if it is gone.
func (s *session) locate(ctx context.Context, o attempt.Op, at uint64) (uint64, error) {
	o.Write = false
	return library(ctx, s, o, func(c *gozk.Conn) (uint64, error) {
		there, stat, err := c.Exists(s.tree.fence(s.ID(), at))
		if err == nil && !there {
			at = (at>>32 + 1) << 32
			return at, s.tree.ensure(c, s.tree.acl, s.tree.fence(s.ID(), at))
		}
		if err != nil {
			return at, err
		}
		return at>>32<<32 | uint64(uint32(stat.Version)), nil
	})
}

// List implements driver.Session. The session's server has all that it was told of (L3).
func (s *session) List(ctx context.Context, dir string) ([]driver.Node, error) {
	return s.list(ctx, dir, false)
}

// ListNames implements driver.NameLister. The answer holds all names in any case.
func (s *session) ListNames(ctx context.Context, dir string, _ uint64) ([]driver.Node, error) {
	return s.list(ctx, dir, true)
}

func (s *session) list(ctx context.Context, dir string, byName bool) ([]driver.Node, error) {
	return do(ctx, s, s.Read("list", dir), func(ctx context.Context) ([]driver.Node, error) {
		return s.tree.list(ctx, s.link, dir, byName, listing{})
	})
}

// WaitDelete implements driver.Session.
func (s *session) WaitDelete(ctx context.Context, n driver.Node) error {
	_, err := s.WaitAny(ctx, []driver.Node{n})
	return err
}

// WaitAny implements driver.AnyWaiter.
func (s *session) WaitAny(ctx context.Context, nodes []driver.Node) (gone int, err error) {
	o := s.Read("wait", "")
	o.Limit = 0 // a wait heals itself
	if len(nodes) == 0 {
		return 0, invalid(o, "no nodes to wait for")
	}
	o.Key = nodes[0].Dir
	for _, n := range nodes {
		n.Dir = o.Key // which is that of all of them
		if err := s.tree.check(n); err != nil {
			return 0, o.Failed(nil, err)
		}
	}
	err = s.Do(ctx, o, func(ctx context.Context) error {
		return watch.Follow(func(ctx context.Context, _ string, _ func(watch.List)) (err error) {
			gone, err = s.wait(ctx, nodes)
			return err
		}).Heal(ctx, o.Key, nil)
	})
	return gone, err
}

// wait returns the index of a node that is gone. All waits of a session for a node share a
// watch of the node's children: as it can have none, that fires for nothing but the deletion.
func (s *session) wait(ctx context.Context, nodes []driver.Node) (int, error) {
	h, wake := s.link.watches, make(chan struct{}, 1)
	all := make([]*watchedPath, len(nodes))
	for i, n := range nodes {
		all[i] = h.join(n.Key, wake)
		defer h.leave(all[i], wake)
	}
	for ctx.Err() == nil {
		var arming sync.WaitGroup
		errs := make([]error, len(nodes))
		for i, w := range all {
			if ask, gone := h.claim(w); gone {
				arming.Wait()
				return i, nil
			} else if ask {
				arming.Go(func() { errs[i] = s.arm(ctx, w, nodes[i]) })
			}
		}
		arming.Wait()
		if err := errors.Join(errs...); err != nil {
			return 0, err
		}
		select {
		case <-wake:
		case <-ctx.Done():
		}
	}
	return 0, ctx.Err()
}

// arm asks for the watch of a node. The answer tells whether the node is there, and whose.
func (s *session) arm(ctx context.Context, w *watchedPath, n driver.Node) error {
	there := false
	gone, err := do(ctx, s, s.Read("wait", w.path), func(ctx context.Context) (bool, error) {
		ls, err := children(ctx, s.link, w.path)
		if errors.Is(err, gozk.ErrNoNode) && int64(n.Version) > s.link.seen.Load() {
			// The server may not have heard of the node yet.
			if err = agree(ctx, s.link); err == nil {
				s.link.saw(int64(n.Version))
				ls, err = children(ctx, s.link, w.path)
			}
		}
		if errors.Is(err, gozk.ErrNoNode) {
			return true, nil
		}
		there = err == nil
		_, base := cut(w.path)
		return there && !s.tree.isNode(n.Dir, base, ls.stat), err
	})
	s.link.watches.finish(w, there, gone)
	return err
}
