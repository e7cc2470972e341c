package zk

import (
	"context"
	"errors"
	"sync"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
)

// fence is a node of a session's own, whose version every request that makes a
// node asks for. Raising the fence, which is writing to it, makes all such
// requests fail that are still on their way, wherever they are and however late
// they arrive. The session's other creates that fail with them learn the new
// version and try again.
//
// If somebody removes the fence, requests fail as well, and the next one is of
// another name.
type fence struct {
	mu   sync.Mutex
	n    int // counts the names
	mark mark
}

// mark is a position of a fence.
type mark struct {
	path    string
	version int32
}

// position returns where the fence is believed to stand.
func (f *fence) position() mark {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mark
}

// saw takes note of a position. Replies overtake each other, so an older one
// does not count.
func (f *fence) saw(m mark) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m.path == f.mark.path {
		f.mark.version = max(f.mark.version, m.version)
	}
}

// put replaces the fence by another.
func (f *fence) put(n int, path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > f.n {
		f.n, f.mark = n, mark{path: path}
	}
}

// fences is how many are tried to be built at a time.
const fences = 8

// newFence makes the fence of a session.
func (s *session) newFence(ctx context.Context, o op) (*fence, error) {
	f := &fence{n: -1}
	return f, s.build(ctx, o, f)
}

// build makes a fence under a new name. If a reply is lost it tries another: a
// fence too many goes with the session.
func (s *session) build(ctx context.Context, o op, f *fence) (err error) {
	o.write = true
	f.mu.Lock()
	first := f.n + 1
	f.mu.Unlock()
	for n := first; n < first+fences; n++ {
		path := s.conn.fence(s.ID(), n)
		_, err = call(ctx, s.link, o, func(lib *gozk.Conn) (string, error) {
			made, err := lib.Create(path, nil, gozk.FlagEphemeral, s.conn.acl)
			if errors.Is(err, gozk.ErrNoNode) {
				if err := s.conn.ensure(lib, s.conn.sessionsDir()); err != nil {
					return "", err
				}
				made, err = lib.Create(path, nil, gozk.FlagEphemeral, s.conn.acl)
			}
			return made, err
		})
		switch {
		case err == nil:
			f.put(n, path)
			return nil
		case ctx.Err() != nil, !errors.Is(err, driver.ErrUncertain) &&
			!errors.Is(err, gozk.ErrNoNode) && !errors.Is(err, gozk.ErrNodeExists):
			return err
		}
	}
	return err
}

// raise moves a fence beyond a position. When it has returned nil, requests that
// ask for that position do nothing any more, and the session's server has seen
// what they did before. The fence may be a former one: that another is in its
// place does not prove that it is gone.
func (s *session) raise(ctx context.Context, o op, beyond mark) error {
	o.write = false // it may be made again
	if at := s.fence.position(); at.path == beyond.path && at.version > beyond.version {
		return nil
	}
	stat, err := call(ctx, s.link, o, func(lib *gozk.Conn) (*gozk.Stat, error) {
		stat, err := lib.Set(beyond.path, nil, beyond.version)
		if errors.Is(err, gozk.ErrBadVersion) { // an earlier attempt has landed
			var exists bool
			if exists, stat, err = lib.Exists(beyond.path); err == nil && !exists {
				err = gozk.ErrNoNode
			}
		}
		return stat, err
	})
	if errors.Is(err, gozk.ErrNoNode) {
		return nil // what asks for it fails; the next request finds out and builds another
	}
	if err == nil {
		s.fence.saw(mark{beyond.path, stat.Version})
	}
	return err
}

// locate learns where the fence stands, after a request that believed it to be
// elsewhere.
func (s *session) locate(ctx context.Context, o op) error {
	o.write = false
	at := s.fence.position()
	stat, err := call(ctx, s.link, o, func(lib *gozk.Conn) (*gozk.Stat, error) {
		exists, stat, err := lib.Exists(at.path)
		if err == nil && !exists {
			err = gozk.ErrNoNode
		}
		return stat, err
	})
	if errors.Is(err, gozk.ErrNoNode) {
		if s.fence.position().path != at.path {
			return nil // another call has built one
		}
		return s.build(ctx, o, s.fence)
	}
	if err == nil {
		s.fence.saw(mark{at.path, stat.Version})
	}
	return err
}
