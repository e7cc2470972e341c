package consul

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/testserver"
)

// rush has calls made while a change is under way, which is answered when all of
// them wait, and returns what becomes of them, in their order. then, if it is not
// nil, is called right before that.
func (f *fixture) rush(then func(), calls ...func() error) []<-chan error {
	f.t.Helper()
	f.sharing.Limit = 1
	ahead := f.open(time.Minute)
	h := hold("write", f.tap)
	first := calling(func() error {
		_, err := ahead.Create(within(f.t), "ahead", "0", nil)
		return err
	})
	receive(f.t, "the change ahead", h.caught)
	outcomes := f.waitToShare(calls...)
	if then != nil {
		then()
	}
	h.free()
	receive(f.t, "the end of the one ahead", first)
	return outcomes
}

// waitToShare has calls made that wait for others to be answered.
func (f *fixture) waitToShare(calls ...func() error) (outcomes []<-chan error) {
	f.t.Helper()
	for i, call := range calls {
		outcomes = append(outcomes, calling(call))
		eventually(f.t, "it waits", func() bool { return f.sharing.Waiting() == i+1 })
	}
	return outcomes
}

// creating makes a node and lists.
func creating(ctx context.Context, s *session, dir string) func() error {
	return func() error {
		n, all, err := s.CreateList(ctx, dir, "0", []byte(dir))
		if err == nil && (len(all) == 0 || !all[len(all)-1].Same(n) || string(all[len(all)-1].Data) != dir || string(n.Data) != dir) {
			err = fmt.Errorf("made %+v and listed %+v", n, all)
		}
		return err
	}
}

// wantOne returns the only node of a directory.
func (f *fixture) wantOne(dir string) driver.Node {
	f.t.Helper()
	nodes, err := f.List(within(f.t), dir)
	must(f.t, err)
	if len(nodes) != 1 {
		f.t.Fatalf("%s has the nodes %+v; want one", dir, nodes)
	}
	return nodes[0]
}

func TestChangesAtOneTimeShareATransaction(t *testing.T) {
	f := start(t)
	s, other := f.open(time.Minute), f.open(time.Minute)
	before := f.create(other, "d0", "0")
	f.create(s, "d00", "0")
	old, kept := f.create(s, "old", "0"), f.create(s, "kept", "0")
	made := make([][]driver.Node, 6)
	var calls []func() error
	for i := range made {
		calls = append(calls, func() (err error) {
			dir := fmt.Sprint("d", i)
			var n driver.Node
			n, made[i], err = s.CreateList(within(t), dir, "0", []byte(dir))
			if last := len(made[i]) - 1; err == nil && (last < 0 || !made[i][last].Same(n) || string(n.Data) != dir) {
				err = fmt.Errorf("made %+v and listed %+v", n, made[i])
			}
			return err
		})
	}
	var single driver.Node
	calls = append(calls,
		func() (err error) { single, err = s.Create(within(t), "single", "0", []byte("1")); return err },
		func() error { return s.Delete(within(t), old) },
		func() (err error) { kept, err = s.Update(within(t), kept, []byte("new")); return err })
	sent := f.tap.during(func() {
		for _, outcome := range f.rush(nil, calls...) {
			must(t, receive(t, "a call", outcome))
		}
	})
	if sent["write"] != 2 { // with the one ahead
		t.Errorf("%d writes, want 2", sent["write"])
	}
	for i, all := range made {
		want := []driver.Node{all[len(all)-1]}
		if i == 0 {
			want = []driver.Node{before, want[0]}
		}
		listed, err := f.List(within(t), fmt.Sprint("d", i))
		must(t, err)
		if len(all) != len(want) || len(listed) != len(want) {
			t.Fatalf("directory %d: made %+v, listed %+v", i, all, listed)
		}
		for j := range want {
			if !all[j].Same(want[j]) || !listed[j].Same(want[j]) || !bytes.Equal(all[j].Data, listed[j].Data) || all[j].Session != listed[j].Session {
				t.Errorf("directory %d: made %+v, listed %+v", i, all, listed)
			}
		}
	}
	f.wantKeys("old", 0)
	if n := f.wantOne("single"); !n.Same(single) || string(n.Data) != "1" {
		t.Errorf("made %+v, listed %+v", single, n)
	}
	if n := f.wantOne("kept"); !n.Same(kept) || n.Version != kept.Version || string(n.Data) != "new" {
		t.Errorf("updated %+v, listed %+v", kept, n)
	}
	must(t, s.Delete(within(t), kept)) // by the version that the shared answer told
	f.wantKeys("kept", 0)
}

// What is made at one time has one index, by which nodes of one directory could not
// be told apart. Sessions end one by one, and trees that lie in each other are not
// told apart.
func TestWhoDoesNotShare(t *testing.T) {
	f := start(t)
	s, other := f.open(time.Minute), f.open(time.Minute)
	made := make(chan uint64, 4)
	one := func(s *session, dir, id string) func() error {
		return func() error {
			n, _, err := s.CreateList(within(t), dir, id, nil)
			made <- n.Token
			return err
		}
	}
	sent := f.tap.during(func() {
		for _, outcome := range f.rush(nil, one(s, "d", "0"), one(s, "d", "1"), one(s, "d/sub", "0"), one(other, "e", "0")) {
			must(t, receive(t, "a call", outcome))
		}
	})
	if sent["write"] != 5 {
		t.Errorf("%d writes, want 5", sent["write"])
	}
	seen := make(map[uint64]bool)
	for range 4 {
		token := <-made
		if seen[token] {
			t.Errorf("two nodes have the token %d", token)
		}
		seen[token] = true
	}
}

// A member whose condition is not met does not keep the others from it.
func TestARefusalIsOfOneAlone(t *testing.T) {
	f := start(t)
	s, other := f.open(time.Minute), f.open(time.Minute)
	there, gone, changed := f.create(s, "a", "0"), f.create(s, "b", "0"), f.create(s, "c", "0")
	f.remove(gone.Key)
	_, err := other.Update(within(t), changed, []byte("theirs"))
	must(t, err)
	var again driver.Node
	outcomes := f.rush(nil,
		func() (err error) { again, _, err = s.CreateList(within(t), "a", "0", []byte("anew")); return err },
		func() error { _, err := s.Update(within(t), gone, nil); return err },
		func() error { return s.Delete(within(t), changed) },
		creating(within(t), s, "d"))
	must(t, receive(t, "the create of what is there", outcomes[0]))
	wantIs(t, receive(t, "the update of what is gone", outcomes[1]), driver.ErrGone)
	must(t, receive(t, "the delete of what was changed", outcomes[2]))
	must(t, receive(t, "the other create", outcomes[3]))
	if !again.Same(there) || string(again.Data) != "0" {
		t.Errorf("got %+v; want %+v", again, there)
	}
	f.wantKeys("c", 0)
	f.wantOne("d")
}

// The fence that an Abandon has moved refuses what asked for its earlier position,
// and each finds out where it is now.
func TestSharingWhenTheFenceHasMoved(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	outcomes := f.rush(func() { must(t, s.Abandon(within(t), "x", "0")) },
		creating(within(t), s, "a"), creating(within(t), s, "b"))
	for _, outcome := range outcomes {
		must(t, receive(t, "a call", outcome))
	}
	// And from now on, with a fence that is there.
	sent := f.tap.during(func() {
		for _, outcome := range f.rush(nil, creating(within(t), s, "c"), creating(within(t), s, "d")) {
			must(t, receive(t, "a call", outcome))
		}
	})
	if sent["write"] != 2 {
		t.Errorf("%d writes, want 2", sent["write"])
	}
	for _, dir := range []string{"a", "b", "c", "d"} {
		f.wantOne(dir)
	}
}

// A token that may not write in one directory may write in others.
func TestDeniedDirectoryAmongOthers(t *testing.T) {
	t.Parallel()
	consul := testserver.StartConsul(t, testserver.ConsulOptions{ACL: true, Dev: true})
	admin := newAdmin(t, consul.Member(0).Endpoint(), consul.Token)
	f := startOn(t, consul, defaultTiming)
	all := string(f.keyspace) + "/"
	token := tokenFor(t, admin, "some", `
		key_prefix "`+all+`" { policy = "write" }
		key_prefix "`+all+`secret/" { policy = "deny" }
		session_prefix "" { policy = "write" }`)
	c, err := openWith(within(t), driver.Target{Hosts: []string{f.tap.addr()}, Namespace: string(f.keyspace), Token: token}, defaultTiming)
	must(t, err)
	some := &fixture{conn: c, t: t, tap: f.tap, admin: f.admin}
	s := some.open(time.Minute)
	old := some.create(s, "old", "0")
	outcomes := some.rush(nil, creating(within(t), s, "a"), creating(within(t), s, "secret"),
		func() error { return s.Delete(within(t), old) })
	must(t, receive(t, "a create", outcomes[0]))
	wantIs(t, receive(t, "what is denied", outcomes[1]), driver.ErrDenied)
	must(t, receive(t, "a delete", outcomes[2]))
	f.wantOne("a")
	f.wantKeys("secret", 0)
	f.wantKeys("old", 0)
	must(t, c.Close())
}

// A large transaction is refused as a whole, and one of many operations.
func TestHowMuchIsShared(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	for what, of := range map[string]struct {
		data     []byte
		together int
	}{
		"large": {bytes.Repeat([]byte("x"), driver.MaxData), (mostSharedBytes - 1) / base64.StdEncoding.EncodedLen(driver.MaxData)},
		"many":  {nil, mostSharedOps / 4},
	} {
		var calls []func() error
		for i := range 2*of.together + 1 {
			calls = append(calls, func() error {
				_, _, err := s.CreateList(within(t), fmt.Sprint(what, i), "0", of.data)
				return err
			})
		}
		sent := f.tap.during(func() {
			for _, outcome := range f.rush(nil, calls...) {
				must(t, receive(t, "a call", outcome))
			}
		})
		if sent["write"] != 4 {
			t.Errorf("%s: %d writes, want 4", what, sent["write"])
		}
	}
}

// Many locks are taken and left at a time: each is right, and together they make
// fewer requests than cycles.
func TestManyLocksAtATime(t *testing.T) {
	f := startOn(t, standard.Get(t), defaultTiming)
	s := f.open(time.Minute)
	const locks, cycles = 64, 30
	sent := f.tap.during(func() {
		var using sync.WaitGroup
		for i := range locks {
			using.Go(func() {
				dir := fmt.Sprint("mutex:", i)
				var last uint64
				for round := range cycles {
					data := fmt.Sprint(dir, " ", round)
					n, all, err := s.CreateList(t.Context(), dir, "0", []byte(data))
					if err == nil && (len(all) != 1 || !all[0].Same(n) || string(all[0].Data) != data || string(n.Data) != data || n.Token <= last) {
						err = fmt.Errorf("made %+v after %d and listed %+v", n, last, all)
					}
					if last = n.Token; err == nil {
						err = s.Delete(t.Context(), n)
					}
					if err != nil {
						t.Errorf("%s: %v", data, err)
						return
					}
				}
			})
		}
		using.Wait()
	})
	if n := sent["write"]; n > locks*cycles*5/4 {
		t.Errorf("%d requests for %d cycles", n, locks*cycles)
	}
	if len(sent) > 1 {
		t.Errorf("sent %v", sent)
	}
	if s := f.tap.state(); s.refused > 0 || s.most > maxCalls+maxKeepers {
		t.Errorf("%d requests were refused; at most %d connections were open", s.refused, s.most)
	}
	keys, _, err := f.admin.KV().Keys(f.all(), "", &api.QueryOptions{RequireConsistent: true})
	must(t, err)
	if len(keys) > 0 {
		t.Errorf("left %s", strings.Join(keys, ", "))
	}
}
