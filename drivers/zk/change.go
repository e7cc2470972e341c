package zk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
)

// Update implements driver.Session. It writes the node's name to the directory
// as well, which tells those who list it that they have to read nodes again, and
// those who watch it, which.
//
// It asks for the version of the node's data, so that an earlier Update, which
// was given up and arrives late, does not undo it.
func (s *session) Update(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
	err := s.live(func() (err error) {
		n, err = s.update(ctx, n, bytes.Clone(data)) // the caller may use its own again
		return err
	})
	if err != nil {
		return driver.Node{}, err
	}
	return n, nil
}

// errOverwritten is a node whose data change all the time.
var errOverwritten = errors.New("somebody else writes to the node, again and again")

func (s *session) update(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
	o := s.change("update", n.Key)
	if err := checkData(o, data); err != nil {
		return n, err
	}
	if err := s.conn.checkNode(o, n); err != nil {
		return n, err
	}
	_, base := cut(n.Key)
	parsed, _ := parseName(base)
	for start := time.Now(); time.Since(start) < o.limit; {
		version, err := s.versionOf(ctx, o, n)
		var results []gozk.MultiResponse
		if err == nil {
			results, err = call(ctx, s.link, o, func(lib *gozk.Conn) ([]gozk.MultiResponse, error) {
				results, err := lib.Multi(updating(n, data, version)...)
				return results, refusal(results, err)
			})
		}
		switch {
		case errors.Is(err, gozk.ErrNoNode):
			return n, failed(o, driver.ErrGone, err)
		case errors.Is(err, gozk.ErrBadVersion): // an earlier attempt has landed, or somebody has written by hand
			s.knowVersion(n, unknown)
			continue
		case err != nil:
			return n, err
		}
		n.Data = data
		if len(results) == 2 && results[0].Stat != nil && results[1].Stat != nil {
			s.knowVersion(n, results[0].Stat.Version)
			s.conn.cache.directory(n.Dir).updated(parsed.stem, data, stampOf(*results[1].Stat))
		}
		return n, nil
	}
	return n, failed(o, driver.ErrUnavailable, errOverwritten)
}

// refusal is the error of a transaction. A part that was refused, for whatever reason,
// says that nothing was done.
func refusal(results []gozk.MultiResponse, err error) error {
	refused := func(it gozk.MultiResponse) bool { return it.Error != nil }
	if err != nil && !isAnswer(err) && slices.ContainsFunc(results, refused) {
		return fmt.Errorf("%w: %w", errPart, err)
	}
	return err
}

// updating is a transaction that updates a node.
func updating(n driver.Node, data []byte, version int32) []any {
	dir, base := cut(n.Key)
	return []any{
		&gozk.SetDataRequest{Path: n.Key, Data: data, Version: version},
		&gozk.SetDataRequest{Path: dir, Data: []byte(base), Version: -1},
	}
}

// anyVersion is a version that every node has.
const anyVersion = -1

// versionOf returns which version of a node's data an update is to replace.
func (s *session) versionOf(ctx context.Context, o op, n driver.Node) (int32, error) {
	_, base := cut(n.Key)
	known := s.slots.get(slotKey{n.Dir, n.ID})
	switch {
	case known.base != base || known.doubt != nil:
		return anyVersion, nil // not this session's, as far as it knows
	case known.version != unknown:
		return known.version, nil
	}
	o.write = false
	stat, err := call(ctx, s.link, o, func(lib *gozk.Conn) (*gozk.Stat, error) {
		exists, stat, err := lib.Exists(n.Key)
		if err == nil && !exists {
			err = gozk.ErrNoNode
		}
		return stat, err
	})
	if err != nil {
		return 0, err
	}
	s.knowVersion(n, stat.Version)
	return stat.Version, nil
}

func (s *session) knowVersion(n driver.Node, version int32) {
	_, base := cut(n.Key)
	s.slots.change(slotKey{n.Dir, n.ID}, base, func(v *slot) { v.version = version })
}

// Delete implements driver.Session. The name says which node is meant, also
// when another stands in its slot.
func (s *session) Delete(ctx context.Context, n driver.Node) error {
	o := s.change("delete", n.Key)
	return s.live(func() error {
		if err := s.conn.checkNode(o, n); err != nil {
			return err
		}
		_, base := cut(n.Key)
		if n.Session == s.ID() {
			return s.empty(ctx, o, slotKey{n.Dir, n.ID}, base)
		}
		_, err := s.remove(ctx, o, n.Key)
		return err
	})
}

// empty removes a node of the session's own. Until that is certain to be done,
// or not to be, its slot says that the node is about to go.
func (s *session) empty(ctx context.Context, o op, k slotKey, base string) error {
	counted := false
	s.slots.change(k, base, func(v *slot) { v.leaving, counted = v.leaving+1, true })
	at, err := s.remove(ctx, o, s.conn.dir(k.dir)+"/"+base)
	switch {
	case err == nil:
		s.alone.left(k.dir, base, at)
		s.slots.clear(k, base)
		s.conn.cache.directory(k.dir).forget(base)
	case counted && !errors.Is(err, driver.ErrUncertain):
		s.slots.change(k, base, func(v *slot) { v.leaving-- })
	}
	return err
}

// remove deletes a node, if it is there, and returns a zxid at which that was done; 0 if
// the node was gone before.
func (s *session) remove(ctx context.Context, o op, path string) (at uint64, _ error) {
	change := &member{parts: []any{opDelete, false, -1, path, anyVersion}, adds: 1}
	it := s.link.together(ctx, o, change, func() (it effect) {
		a, err := s.link.exchange(ctx, o, request(opDelete, path, anyVersion)) // costs less than a transaction
		return effect{at: a.zxid, err: err}
	})
	if errors.Is(it.err, gozk.ErrNoNode) {
		return 0, nil
	}
	return it.at, it.err
}
