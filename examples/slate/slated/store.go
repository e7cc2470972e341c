package slated

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Do executes every request but a wait, as if a client had sent it.
func (s *Server) Do(r Request) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Op {
	case "grant":
		if r.TTL < MinTTL || r.TTL > MaxTTL {
			return Reply{Err: "ttl"}
		}
		s.rev++
		id := fmt.Sprintf("%016x", s.rev)
		s.leases[id] = time.AfterFunc(r.TTL, func() { s.Do(Request{Op: "revoke", Lease: id}) })
		return Reply{Lease: id, Rev: s.rev}
	case "renew":
		t := s.leases[r.Lease]
		if t == nil || !t.Stop() { // or it has run out and is about to be revoked
			return Reply{Err: "lease"}
		}
		t.Reset(r.TTL)
		return Reply{Rev: s.rev}
	case "revoke":
		return s.revoke(r.Lease)
	case "txn":
		return s.txn(r)
	}
	return Reply{Err: "unknown op " + r.Op}
}

// revoke ends a lease, and its keys with it.
func (s *Server) revoke(lease string) Reply {
	t := s.leases[lease]
	if t == nil {
		return Reply{Err: "lease"}
	}
	t.Stop()
	delete(s.leases, lease)
	for k, kv := range s.keys {
		if kv.Lease == lease {
			delete(s.keys, k)
		}
	}
	s.bump()
	return Reply{Rev: s.rev}
}

// bump begins a new revision and wakes the waits.
func (s *Server) bump() {
	s.rev++
	close(s.changed)
	s.changed = make(chan struct{})
}

// txn does all of Then, all of Else, or nothing.
func (s *Server) txn(r Request) Reply {
	reply, actions := Reply{OK: true}, r.Then
	for _, c := range r.If {
		kv := s.keys[c.Key]
		number, _ := strconv.ParseUint(string(kv.Value), 10, 64)
		if c.Created != nil && *c.Created != kv.Created || c.AtMost != nil && number > *c.AtMost {
			reply.OK, actions = false, r.Else
		}
	}
	writes := false
	for _, a := range actions {
		if a.Put != nil && a.Put.Lease != "" && s.leases[a.Put.Lease] == nil {
			return Reply{Err: "lease"}
		}
		writes = writes || a.Put != nil || a.Del != ""
	}
	if writes {
		s.bump()
	}
	reply.Rev = s.rev
	for _, a := range actions {
		switch {
		case a.Put != nil:
			kv := *a.Put
			kv.Created, kv.Modified = s.rev, s.rev
			if old, ok := s.keys[kv.Key]; ok {
				kv.Created = old.Created
			}
			s.keys[kv.Key] = kv
		case a.Del != "":
			delete(s.keys, a.Del)
		case a.Get != "":
			reply.Got = append(reply.Got, s.get(a.Get))
		}
	}
	return reply
}

func (s *Server) get(prefix string) []KV {
	got := []KV{}
	for k, kv := range s.keys {
		if strings.HasPrefix(k, prefix) {
			got = append(got, kv)
		}
	}
	slices.SortFunc(got, func(a, b KV) int { return strings.Compare(a.Key, b.Key) })
	return got
}
