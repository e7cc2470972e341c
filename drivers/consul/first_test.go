package consul

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
)

// places are those of two sessions that took them in turns, the other one first.
type places struct {
	s, other    *session
	own, others []driver.Node
}

func (f *fixture) inTurn(each int) places {
	f.t.Helper()
	p := places{s: f.open(time.Minute), other: f.open(time.Minute)}
	for i := range each {
		p.others = append(p.others, f.create(p.other, "d", fmt.Sprint(i)))
		n, _, err := p.s.CreateList(within(f.t), "d", fmt.Sprint(i), nil)
		must(f.t, err)
		p.own = append(p.own, n)
	}
	return p
}

// wantFirst asks, and looks at what was sent: one request for a few nodes is a
// transaction, one for all is a read.
func (f *fixture) wantFirst(s *session, what string, n driver.Node, want bool, cost sent) {
	f.t.Helper()
	wantSent(f.t.(*testing.T), what, f.tap.during(func() {
		first, err := s.First(within(f.t), n)
		must(f.t, err)
		if first != want {
			f.t.Errorf("%s: first is %v; want %v", what, first, want)
		}
	}), cost)
}

// In a long line a session asks for those who may still be ahead.
func TestFirstInALongLine(t *testing.T) {
	f := start(t)
	p := f.inTurn(10)
	few, all := sent{"write": 1}, sent{"read": 1}
	f.wantFirst(p.s, "one is ahead", p.own[0], false, few)
	f.wantFirst(p.s, "many are ahead", p.own[9], false, all)
	for i := range 7 {
		f.wantFirst(p.s, fmt.Sprintf("place %d, not yet", i), p.own[i], false, few)
		must(t, p.other.Delete(within(t), p.others[i]))
		f.wantFirst(p.s, fmt.Sprintf("place %d", i), p.own[i], true, few)
		must(t, p.s.Delete(within(t), p.own[i]))
	}
	must(t, p.other.Delete(within(t), p.others[7]))
	f.wantFirst(p.s, "in what is left of the line", p.own[7], true, all)
	for _, n := range p.own[7:] {
		must(t, p.s.Delete(within(t), n))
	}
	p.s.ledger.mu.Lock()
	defer p.s.ledger.mu.Unlock()
	if len(p.s.ledger.lines) > 0 {
		t.Errorf("remembers %v, where it has no place", p.s.ledger.lines)
	}
}

// Whatever becomes of those who were ahead, and of the node itself.
func TestFirstOfFew(t *testing.T) {
	for name, c := range map[string]struct {
		then  func(f *fixture, p places)
		first bool
	}{
		"the one ahead came back, to the end of the line": {
			then: func(f *fixture, p places) {
				must(f.t, p.other.Delete(within(f.t), p.others[0]))
				f.create(p.other, "d", "0")
			},
			first: true,
		},
		"the lock of the one ahead was released by somebody": {
			then: func(f *fixture, p places) {
				kv := &api.KVPair{Key: p.others[0].Key, Session: p.other.id}
				_, _, err := f.admin.KV().Release(kv, nil)
				must(f.t, err)
				f.t.Cleanup(func() { f.remove(kv.Key) })
			},
			first: true,
		},
		"another one of its name begins with its": {
			then: func(f *fixture, p places) {
				f.create(p.other, "d", "00")
				must(f.t, p.other.Delete(within(f.t), p.others[0]))
			},
			first: true,
		},
		"it itself was removed": {
			then: func(f *fixture, p places) {
				must(f.t, p.other.Delete(within(f.t), p.others[0]))
				f.remove(p.own[0].Key)
			},
		},
		"all were removed": {
			then: func(f *fixture, p places) {
				_, err := f.admin.KV().DeleteTree(f.dir("d"), nil)
				must(f.t, err)
			},
		},
		"its lock was released by somebody": {
			then: func(f *fixture, p places) {
				must(f.t, p.other.Delete(within(f.t), p.others[0]))
				kv := &api.KVPair{Key: p.own[0].Key, Session: p.s.id}
				_, _, err := f.admin.KV().Release(kv, nil)
				must(f.t, err)
				f.t.Cleanup(func() { f.remove(kv.Key) })
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			p := f.inTurn(4)
			c.then(f, p)
			f.wantFirst(p.s, name, p.own[0], c.first, sent{"write": 1})
			must(t, p.s.Close(within(t)))
			must(t, p.other.Close(within(t)))
		})
	}
}

// What was read in vain is the list that the caller asks for next. It is not read
// again and again to find out that something has changed.
func TestFirstAndListAreOneRead(t *testing.T) {
	f := start(t)
	s, other := f.open(time.Minute), f.open(time.Minute)
	ahead := f.create(other, "d", "0")
	n := f.create(s, "d", "0")
	f.wantFirst(s, "one is ahead", n, false, sent{"read": 1})
	wantSent(t, "the list after that", f.tap.during(func() { f.wantListed(s, ahead, n) }), sent{})
	f.wantFirst(s, "one is still ahead", n, false, sent{"read": 1})
	must(t, other.Delete(within(t), ahead))
	f.wantFirst(s, "nobody is ahead", n, true, sent{"read": 1})
	f.wantFirst(other, "one of another session", n, true, sent{"read": 1})
}

// What was acknowledged to the session, and what it was told, counts more than what it
// remembers.
func TestFirstOfWhatIsGone(t *testing.T) {
	f := start(t)
	p := f.inTurn(4)
	must(t, p.other.Delete(within(t), p.others[0]))
	f.wantFirst(p.s, "it is the first", p.own[0], true, sent{"write": 1})
	must(t, p.s.Delete(within(t), p.own[0]))
	f.wantFirst(p.s, "it was deleted", p.own[0], false, sent{"read": 1})
	again := f.create(p.s, "d", "0")
	f.wantFirst(p.s, "another one has its name", p.own[0], false, sent{"read": 1})
	f.wantFirst(p.s, "that one", again, false, sent{"read": 1})

	// A list that is certain has shown that somebody has removed one.
	p.s.glance.drop()
	f.remove(p.own[1].Key)
	left := []driver.Node{p.others[1], p.others[2], p.own[2], p.others[3], p.own[3], again}
	wantSent(t, "the list that shows it", f.tap.during(func() { f.wantListed(p.s, left...) }), sent{"read": 2})
	wantSent(t, "the list after that", f.tap.during(func() { f.wantListed(p.s, left...) }), sent{"read": 1})
	f.wantFirst(p.s, "it was removed", p.own[1], false, sent{"read": 1})
}

// A list that was read in vain is not shown after the session has changed something.
func TestListAfterFirstAndAChange(t *testing.T) {
	f := start(t)
	s, other := f.open(time.Minute), f.open(time.Minute)
	ahead := f.create(other, "d", "0")
	n := f.create(s, "d", "0")
	f.wantFirst(s, "one is ahead", n, false, sent{"read": 1})
	must(t, s.Delete(within(t), ahead))
	f.wantListed(s, n)
	again := f.create(other, "d", "1")
	f.wantFirst(s, "another session's", again, false, sent{"read": 1})
	again, err := s.Update(within(t), again, []byte("new"))
	must(t, err)
	f.wantListed(s, n, again)

	change := s.glance.last()
	s.glance.drop()
	s.glance.keep("d", []driver.Node{n}, change) // asked for before the change
	f.wantListed(s, n, again)
}

// What a token may not read is not gone: Consul leaves it out, and says so.
func TestFirstOfWhatMayNotBeRead(t *testing.T) {
	n := waitedFor("1", 20)
	n.Session = someSession
	for _, filtered := range []bool{false, true} {
		host := posing(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/session/create" {
				_, _ = w.Write([]byte(`{"ID":"` + someSession + `"}`))
				return
			}
			_ = json.NewEncoder(w).Encode(map[string]any{
				"Results":               api.TxnResults{{KV: entryFor(n, 20, 20)}},
				"ResultsFilteredByACLs": filtered,
			})
		})
		c := openOn(t, defaultTiming, host)
		s := newSession(c, someSession, time.Minute, time.Now())
		first, err := s.leads(within(t), s.op("list", "d"), n, []standing{{"ns/d/another-0", 10}})
		s.close()
		if filtered {
			wantIs(t, err, driver.ErrDenied)
		}
		if first == filtered {
			t.Errorf("filtered %v: first %v, %v", filtered, first, err)
		}
	}
}
