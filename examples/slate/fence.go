package slate

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/examples/slate/slated"
)

// fence is a key of a session's own, under its lease. Every request that makes
// or changes a node asks for the fence to stand where it was last seen, told by
// its modification revision. Once it was moved, what was sent before does
// nothing any more, however late it arrives.
type fence struct {
	mu      sync.Mutex
	stood   uint64 // where it was last seen; 0: it does not exist
	doubt   bool   // requests that ask for doubted, or for less, may still be on their way
	doubted uint64
}

func (f *fence) position() (stood uint64, doubt bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stood, f.doubt && f.stood <= f.doubted
}

// pending takes note of a request of unknown outcome, and where it asks for the
// fence to stand.
func (f *fence) pending(asked uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doubt, f.doubted = true, max(f.doubted, asked)
}

// saw takes note of what a request has found that asked for a position. Replies
// overtake each other, so an older one does not count. If the fence is gone where
// one was asked for, somebody has deleted it, and it is to be made again; what was
// doubted before stays so, as another call may have made it meanwhile.
func (f *fence) saw(asked, at uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case at > f.stood:
		f.stood = at
	case at == 0 && asked > 0:
		f.stood, f.doubt = 0, true
	}
}

func (s *session) fenceKey() string { return s.conn.namespace + "/.fence/" + s.id }

// fenced makes a transaction on condition that the fence has not moved. If it
// has, by another call of this session, the transaction is made again.
func (s *session) fenced(ctx context.Context, o op, r slated.Request) (slated.Reply, error) {
	key := s.fenceKey()
	look := slated.Action{Get: key}
	for {
		at, doubt := s.fence.position()
		t := r
		if doubt { // move it first
			t = slated.Request{Op: "txn", Then: []slated.Action{s.raise()}}
		}
		t.If = append(slices.Clone(t.If), slated.Cond{Key: key, Modified: &at})
		t.Then = append(slices.Clone(t.Then), look)
		t.Else = append(slices.Clone(t.Else), look)
		reply, err := s.do(ctx, o, t)
		if errors.Is(err, driver.ErrUncertain) {
			s.fence.pending(at)
		}
		if err != nil {
			return reply, err
		}
		kv, _ := one(reply.Got[len(reply.Got)-1], key)
		s.fence.saw(at, kv.Modified)
		if !doubt && (reply.OK || kv.Modified == at) {
			return reply, nil
		}
	}
}

// raise moves the fence.
func (s *session) raise() slated.Action {
	return slated.Action{Put: &slated.KV{Key: s.fenceKey(), Lease: s.id}}
}

// one finds a key among those that begin alike.
func one(kvs []slated.KV, key string) (slated.KV, bool) {
	for _, kv := range kvs {
		if kv.Key == key {
			return kv, true
		}
	}
	return slated.KV{}, false
}
