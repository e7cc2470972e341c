package zk

import (
	"context"
	"errors"
	"strings"

	gozk "github.com/go-zookeeper/zk"
)

// settle makes sure that no earlier request makes a node any more, and returns
// the name of the one that there is, or "".
func (s *session) settle(ctx context.Context, o op, k slotKey, doubt mark) (base string, err error) {
	if err := s.raise(ctx, o, doubt); err != nil {
		return "", err
	}
	o.write = false
	prefix := slotPrefix(s.ID(), k.id)
	path := s.conn.dir(k.dir)
	return call(ctx, s.link, o, func(lib *gozk.Conn) (string, error) {
		ls := children(lib, path)
		if errors.Is(ls.err, gozk.ErrNoNode) {
			return "", nil
		}
		for _, base := range ls.names {
			if _, ok := parseName(base); !ok || !strings.HasPrefix(base, prefix) {
				continue
			}
			switch it := get(lib, path+"/"+base); {
			case it.err == nil && it.stat.EphemeralOwner == s.id:
				return base, nil
			case it.err != nil && !errors.Is(it.err, gozk.ErrNoNode):
				return "", it.err
			}
		}
		return "", ls.err
	})
}

// Abandon implements driver.Session. Where a request of unknown outcome may
// still be on its way, it raises the session's fence and so makes it fail, and
// looks for what it has made. An Abandon that is late itself does no harm: it
// removes by name, and names are not used again.
func (s *session) Abandon(ctx context.Context, dir, id string) error {
	o := s.change("abandon", dir)
	return s.live(func() error {
		k := slotKey{dir, id}
		known := s.slots.get(k)
		if known.base == "" {
			fence := s.fence.position()
			if known.doubt != nil {
				fence = *known.doubt
			}
			base, err := s.settle(ctx, o, k, fence)
			if err != nil {
				return err
			}
			known = s.slots.found(k, base)
		}
		if known.base == "" {
			return nil
		}
		return s.empty(ctx, o, k, known.base)
	})
}
