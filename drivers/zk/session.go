package zk

import (
	"bytes"
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
)

// session implements driver.Session, driver.CreateLister, driver.NameLister and
// driver.AnyWaiter. What it is and how it ends is in sessions.Session.
type session struct {
	sessions.Session
	link  *link
	tree  *tree
	fence fence.Position // see fenced
	nonce atomic.Uint64  // of the latest node's name

	mu    sync.Mutex
	slots map[slotKey]slot  // those of which there is something to know
	alone map[string]string // directories with no node but this one, or, if "", with none
}

type slotKey struct{ dir, id string }

// slot is what is known of a directory's id.
type slot struct {
	base    string // the name of the node that stands in it; "" if there is none
	doubt   bool   // a Create got no answer
	leaving int    // deletions of the node that got no answer, or have none yet
}

func (s *session) slot(k slotKey) slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slots[k]
}

// changeSlot changes what is known of a slot, if the node that stands in it is base.
func (s *session) changeSlot(k slotKey, base string, change func(*slot)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.slots[k]
	if v.base != base {
		return
	}
	if change(&v); v == (slot{}) {
		delete(s.slots, k)
	} else {
		s.slots[k] = v
	}
}

// renewal is how to keep the lease of a link's session. The answer to a transaction proves
// that the session lives; pings and reads do not, as a member that is cut off from the
// others answers them. Followers tell the leader twice in a tick which sessions live. If
// one breaks down right after an answer, that news is lost: so the last but one counts.
func renewal(l *link, ttl time.Duration) sessions.Config {
	id := l.id()
	return sessions.Config{
		Lease: lease.Config{
			Session: id, TTL: ttl, Sent: l.begun, Interval: ttl / 6, Discount: 1,
			Renew: func(ctx context.Context) error {
				return answered(attempt.Op{Store: store, Name: "renew", Key: id}, agree(ctx, l))
			},
		},
		Revoke: l.bye,
	}
}

// farewell is how long a session that was closed stays connected for the store to be told.
const farewell = time.Second

// attend ends the session when the store says so, and clears up behind it. A session that
// is over may still be closed by its owner, until the store has ended it by itself.
func (s *session) attend(life context.Context) {
	l := s.link
	select { // if both have happened, either will do: the lease keeps the first reason
	case <-s.Done():
	case <-l.life.Done():
		s.Lost(context.Cause(l.life))
	}
	saying := func() bool { return l.parting > 0 || l.expired }
	wait := func(d time.Duration, until func() bool) bool {
		ctx, cancel := context.WithTimeout(life, d)
		defer cancel()
		return l.await(ctx, until) == nil
	}
	if !errors.Is(s.Err(), driver.ErrClosed) || !wait(farewell, saying) {
		l.end(s.Err())
	}
	wait(l.granted, func() bool { return l.expired })
	_ = l.await(life, func() bool { return l.parting == 0 })
	l.shutDown()
}

// establish waits for the session, checks what was granted, and makes the fence.
func (s *session) establish(ctx context.Context, o attempt.Op, ttl time.Duration) error {
	_, err := call(ctx, s.link, func(c *gozk.Conn) (struct{}, error) {
		s.link.mu.Lock()
		granted := s.link.granted
		s.link.mu.Unlock()
		if granted != ttl {
			bound := "least"
			if granted < ttl {
				bound = "most"
			}
			return struct{}{}, invalid(o, "TTL: %v; the %s that this ZooKeeper grants, by its configuration, is %v", ttl, bound, granted)
		}
		return struct{}{}, s.tree.ensure(c, s.tree.acl, s.tree.fence(s.link.id(), 0))
	})
	return err
}

// do makes one attempt of a request in the session.
func do[T any](ctx context.Context, s *session, o attempt.Op, request func(ctx context.Context, l *link) (T, error)) (value T, err error) {
	err = s.Do(ctx, o, func(ctx context.Context) (err error) {
		value, err = request(ctx, s.link)
		return answered(o, err)
	})
	return value, err
}

// library makes one attempt of a request of the library.
func library[T any](ctx context.Context, s *session, o attempt.Op, request func(*gozk.Conn) (T, error)) (T, error) {
	return do(ctx, s, o, func(ctx context.Context, l *link) (T, error) { return call(ctx, l, request) })
}

// fenced makes a transaction that does nothing if it arrives after a later one was answered
// (see package fence). If an operation of it is refused, refused is told which, and returns
// nil to have the transaction made again.
func (s *session) fenced(ctx context.Context, o attempt.Op, move bool, ops []any, again func(op int, err error) error) (results []gozk.MultiResponse, err error) {
	err = s.fence.Do(move, func(at uint64, move bool) (uint64, bool, error) {
		var err error
		path, next := s.tree.fence(s.ID(), at), at
		var first any = &gozk.CheckVersionRequest{Path: path, Version: int32(at)}
		if move {
			first, next = &gozk.SetDataRequest{Path: path, Version: int32(at)}, at+1
		}
		results, err = do(ctx, s, o, func(ctx context.Context, l *link) ([]gozk.MultiResponse, error) {
			return multi(ctx, l, append([]any{first}, ops...)...)
		})
		of, no := errors.AsType[*refused](err)
		switch {
		case err == nil:
			return next, true, nil
		case no && of.part > 0:
			return at, false, again(of.part-1, err)
		case errors.Is(err, gozk.ErrBadVersion) || errors.Is(err, gozk.ErrNoNode):
			at, err = s.locate(ctx, o, at)
		}
		return at, false, err
	})
	return results, err
}

// locate returns where the fence stands, after a transaction was refused that asked for a
// position, and builds another one if it is gone.
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

// Update implements driver.Session. It writes the node's name to the directory as well:
// that tells those who list it that they have to read nodes again, and those who watch it,
// which.
func (s *session) Update(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
	o := s.Write("update", n.Key)
	if err := errors.Join(driver.CheckData(data), s.tree.check(n)); err != nil {
		return driver.Node{}, o.Failed(nil, err)
	}
	n.Data = bytes.Clone(data)
	dir, base := cut(n.Key)
	results, err := s.fenced(ctx, o, false, []any{
		&gozk.SetDataRequest{Path: n.Key, Data: n.Data, Version: -1},
		&gozk.SetDataRequest{Path: dir, Data: []byte(base), Version: -1},
	}, func(_ int, err error) error {
		if errors.Is(err, gozk.ErrNoNode) {
			return o.Failed(driver.ErrGone, nil)
		}
		return err
	})
	if err != nil {
		return driver.Node{}, err
	}
	d := s.tree.directory(n.Dir)
	d.advance(*results[2].Stat, base)
	d.learn(base, remembered{data: n.Data}, results[2].Stat.Mzxid)
	return n, nil
}

// Delete implements driver.Session. The name says which node is meant, also when another
// stands in its slot.
func (s *session) Delete(ctx context.Context, n driver.Node) error {
	o := s.Write("delete", n.Key)
	if err := s.tree.check(n); err != nil {
		return o.Failed(nil, err)
	}
	return s.remove(ctx, o, slotKey{n.Dir, n.ID}, n.Key)
}

// remove deletes a node, if it is there. Until it is certain that this was done, or will not
// be, the node's slot says that the node is leaving.
func (s *session) remove(ctx context.Context, o attempt.Op, k slotKey, path string) error {
	_, base := cut(path)
	counted := false
	s.changeSlot(k, base, func(v *slot) { v.leaving, counted = v.leaving+1, true })
	_, err := library(ctx, s, o, func(c *gozk.Conn) (struct{}, error) { return struct{}{}, c.Delete(path, -1) })
	if errors.Is(err, gozk.ErrNoNode) {
		err = nil
	}
	switch {
	case err == nil:
		s.changeSlot(k, base, func(v *slot) { *v = slot{} })
		s.tree.directory(k.dir).gone(base)
		s.mu.Lock()
		defer s.mu.Unlock()
		if only, known := s.alone[k.dir]; known && only == base {
			s.alone[k.dir] = ""
		}
	case counted && !errors.Is(err, driver.ErrUncertain):
		s.changeSlot(k, base, func(v *slot) { v.leaving-- })
	}
	return err
}
