package zk

import (
	"context"
	"errors"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
)

var _ driver.FirstTeller = (*session)(nil)

// First implements driver.FirstTeller. It reads the names in the directory, as
// ListNames does, but only looks at their numbers: at the end of a wait that is
// all that is left to do.
func (s *session) First(ctx context.Context, n driver.Node) (first bool, err error) {
	o := s.op("list", n.Dir)
	if err := s.conn.checkNode(o, n); err != nil {
		return false, err
	}
	err = s.live(func() error {
		a, err := s.link.exchange(ctx, o, request(opGetChildren2, s.conn.dir(n.Dir), false))
		if errors.Is(err, gozk.ErrNoNode) {
			return nil
		}
		if err == nil {
			_, base := cut(n.Key)
			first = leads(base, a.body, s.conn.cache.directory(n.Dir).roll.knowsAsForeign)
		}
		return err
	})
	return first && err == nil, err
}

// leads reports whether a name is in the answer to a request for names, and no
// node with a lower number. It is false if that cannot be told by the numbers.
func leads(own string, body []byte, foreign func(name string) bool) bool {
	n, ok := parseName(own)
	if !ok || n.sequence < 0 || n.sequence >= exhausted {
		return false
	}
	r := reader{rest: string(body)}
	there := false
	for range r.int32() {
		name := r.part(r.int32())
		if r.short {
			return false
		}
		if sequence, ok := trailing(name); ok && sequence > n.sequence {
			continue
		}
		// Few get here: it itself, what is ahead, and what somebody else put there.
		if name == own {
			there = true
		} else if _, ok := parseName(name); ok && !foreign(name) {
			return false
		}
	}
	return there && !r.short
}
