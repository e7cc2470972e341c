package zk

import (
	"context"
	"encoding/binary"
	"errors"
	"math"

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
		body, _, err := s.link.exchange(ctx, o, request(opGetChildren2, s.conn.dir(n.Dir), false))
		if errors.Is(err, gozk.ErrNoNode) {
			return nil
		}
		if err == nil {
			_, base := cut(n.Key)
			first = leads(base, body, s.conn.cache.directory(n.Dir).roll.knowsAsForeign)
		}
		return err
	})
	return first && err == nil, err
}

// leads reports whether a name is in the answer to a request for names, and no
// node with a lower number. It is false if that cannot be told by the numbers.
func leads(own string, body []byte, foreign func(name string) bool) bool {
	n, ok := parseName(own)
	if !ok || n.sequence < 0 || n.sequence >= exhausted || len(body) < 4 {
		return false
	}
	there := false
	count := binary.BigEndian.Uint32(body)
	for body = body[4:]; count > 0; count-- {
		if len(body) < 4 {
			return false
		}
		length := int64(int32(binary.BigEndian.Uint32(body)))
		body = body[4:]
		if length < 0 || length > int64(len(body)) {
			return false
		}
		name := body[:length]
		body = body[length:]
		if sequence, ok := trailing(name); ok && sequence > n.sequence {
			continue
		}
		// Few get here: it itself, what is ahead, and what somebody else put there.
		switch name := string(name); {
		case name == own:
			there = true
		case foreign(name):
		default:
			if _, ok := parseName(name); ok {
				return false
			}
		}
	}
	return there
}

// trailing reads the number at the end of a name, unless it may be a negative one
// of ten characters.
func trailing(name []byte) (sequence int32, ok bool) {
	if len(name) <= sequenceLength {
		return 0, false
	}
	var n int64
	for _, c := range name[len(name)-sequenceLength:] {
		digit := c - '0'
		if digit > 9 {
			return 0, false
		}
		n = n*10 + int64(digit)
	}
	return int32(n), n <= math.MaxInt32
}
