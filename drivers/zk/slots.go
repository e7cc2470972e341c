package zk

import "sync"

// slots is what a session knows of the nodes it has made, by directory and id.
// It is what makes Create idempotent: the names of nodes differ from one time to
// the next, so the store cannot tell that it has been asked before.
type slots struct {
	mu  sync.Mutex
	all map[slotKey]slot
}

type slotKey struct{ dir, id string }

// slot is what is known of one slot. The zero value is that it is empty.
type slot struct {
	base    string // the name of the node that stands in it, as far as is known
	version int32  // of the node's data; unknown if it is not
	leaving int    // how many requests that remove the node may be on their way
	doubt   *mark  // a request that asked for this fence may have made a node, or may yet do so
}

// unknown is the version of a node that an earlier request has made.
const unknown = -1

func (s *slots) get(k slotKey) slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[k]
}

func (s *slots) set(k slotKey, v slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[slotKey]slot)
	}
	s.all[k] = v
	if v == (slot{}) {
		delete(s.all, k)
	}
}

// found takes note of what is left of earlier requests: a node, or "" for none.
func (s *slots) found(k slotKey, base string) (v slot) {
	if base != "" {
		v = slot{base: base, version: unknown}
	}
	s.set(k, v)
	return v
}

// change changes what is known of a node, if it stands in the slot.
func (s *slots) change(k slotKey, base string, change func(v *slot)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.all[k]; v.base == base && v.doubt == nil {
		change(&v)
		s.all[k] = v
	}
}

// clear takes note that a node is gone.
func (s *slots) clear(k slotKey, base string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.all[k]; v.base == base && v.doubt == nil {
		delete(s.all, k)
	}
}
