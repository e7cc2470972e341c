package consul

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/testserver"
)

// V3: a watch goes on by itself after whatever happens to the connection, and
// shows what has changed meanwhile.
func TestWatchOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(g *netfault.Group){
		"frozen up":       func(g *netfault.Group) { g.Freeze(netfault.Up) },
		"frozen down":     func(g *netfault.Group) { g.Freeze(netfault.Down) },
		"replies lost":    func(g *netfault.Group) { g.Blackhole(netfault.Down) },
		"swallowed":       func(g *netfault.Group) { g.Blackhole(netfault.Both) },
		"cut":             func(g *netfault.Group) { g.Cut() },
		"connections cut": func(g *netfault.Group) { g.DropConnections() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, group := overProxies(t, 1)
			owner := startOn(t, single.Get(t))
			owner.keyspace = f.keyspace
			s := owner.open(time.Minute)
			n := owner.create(s, "d", "0")
			v := viewing(within(t), t, f.conn, "d")
			v.shows("the node", n)
			fault(group)
			late := viewing(within(t), t, f.conn, "d") // begins without the store
			m := owner.create(s, "d", "1")
			must(t, s.Delete(within(t), n))
			must(t, group.Heal())
			v.shows("what changed", m)
			late.shows("what changed", m)
			n = owner.create(s, "d", "0")
			v.shows("what changed later", m, n)
			late.shows("what changed later", m, n)
			must(t, s.Close(within(t)))
		})
	}
}

// An agent that falls silent is left for another one.
func TestWatchLeavesASilentAgent(t *testing.T) {
	t.Parallel()
	f, group := overProxies(t, 2)
	owner := startOn(t, single.Get(t))
	owner.keyspace = f.keyspace
	s := owner.open(time.Minute)
	v := viewing(within(t), t, f.conn, "d")
	v.shows("an empty directory")
	for i, id := range []string{"0", "1"} {
		group.Proxy(i).Freeze(netfault.Both)
		n := owner.create(s, "d", id)
		v.shows("the node", n)
		must(t, s.Delete(within(t), n))
		must(t, group.Proxy(i).Heal())
	}
	must(t, s.Close(within(t)))
}

// The agent is killed and comes back: sessions, waits and watches go on.
func TestAgentIsRestarted(t *testing.T) {
	t.Parallel()
	consul := testserver.StartConsul(t, testserver.ConsulOptions{})
	f := startOn(t, consul)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	v := viewing(within(t), t, f.conn, "d")
	v.shows("the node", n)
	wait := waiting(within(t), s, n)
	f.eventuallyWatched(2)
	must(t, consul.Member(0).Kill())
	must(t, consul.Member(0).Restart())
	must(t, consul.WaitHealthy(within(t)))
	eventually(t, "calls are answered", func() bool { _, err := s.List(within(t), "d"); return err == nil })
	pendingStill(t, wait)
	f.remove(n.Key)
	must(t, receive(t, "the wait", wait))
	v.shows("it is gone")
	v.shows("the next one", f.create(s, "d", "1"))
}

// A server without a disk comes back with nothing, and counts from the beginning.
func TestWatchOfAServerThatForgets(t *testing.T) {
	t.Parallel()
	consul := testserver.StartConsul(t, testserver.ConsulOptions{Dev: true})
	f := startOn(t, consul)
	s := f.open(time.Minute)
	for range 100 {
		f.cycle(s, "d") // so that the index is high
	}
	n := f.create(s, "d", "0")
	v := viewing(within(t), t, f.conn, "d")
	v.shows("the node", n)
	must(t, consul.Member(0).Kill())
	must(t, consul.Member(0).Restart())
	must(t, consul.WaitHealthy(within(t)))
	v.shows("nothing is left")
	again := f.create(f.open(time.Minute), "d", "0")
	if again.Token >= n.Token {
		t.Fatalf("token %d after %d: the index did not go back", again.Token, n.Token) // the test shows nothing
	}
	v.shows("a new node", again)
}

// A snapshot is restored under a watch and a wait: the watch shows what the store has now,
// and the wait for a node that is not in it ends.
func TestStoreIsSetBack(t *testing.T) {
	t.Parallel()
	consul := testserver.StartConsul(t, testserver.ConsulOptions{})
	f := startOn(t, consul)
	s := f.open(time.Minute)
	n := f.create(s, "d", "0")
	backup, _, err := f.admin.Snapshot().Save(nil)
	must(t, err)
	defer backup.Close()
	must(t, s.Delete(within(t), n))
	m := f.create(s, "d", "1")
	v := viewing(within(t), t, f.conn, "d")
	v.shows("the later node", m)
	wait := waiting(within(t), s, m)
	f.eventuallyWaiting("d", 1)
	must(t, f.admin.Snapshot().Restore(nil, backup))
	v.shows("what was saved", n)
	must(t, receive(t, "the wait", wait))
	eventually(t, "a node is made", func() bool { _, err := s.Create(within(t), "e", "0", nil); return err == nil })
	must(t, s.Close(within(t)))
}

// The leader of three is killed: the next shows nothing older.
func TestWatchOutlivesALeader(t *testing.T) {
	t.Parallel()
	consul := testserver.StartConsul(t, testserver.ConsulOptions{Members: 3})
	leader, err := consul.Leader(within(t))
	must(t, err)
	f := startOn(t, consul)
	target := targetOf(t, consul)
	target.Namespace = namespace(t)
	c, err := openOn(within(t), target)
	must(t, err)
	defer func() { must(t, c.Close()) }()
	f.keyspace = c.keyspace
	session, err := c.OpenSession(within(t), time.Minute)
	must(t, err)
	n := f.create(session, "d", "0")
	v := viewing(within(t), t, c, "d")
	v.shows("the node", n)
	must(t, consul.Member(leader).Kill())
	eventually(t, "there is a new leader", func() bool {
		m, err := session.Update(within(t), n, []byte("new"))
		if err == nil {
			n = m
		}
		return err == nil
	})
	v.shows("what changed", n)
	must(t, consul.Member(leader).Restart())
	must(t, consul.WaitHealthy(within(t)))
	must(t, session.Delete(within(t), n))
	v.shows("it is gone")
}

// An index that goes back, as when Consul forgets what was deleted, is followed.
func TestWatchFollowsTheIndex(t *testing.T) {
	n, m := waitedFor("0", 100), waitedFor("1", 50)
	var asked atomic.Int32
	c := fake(t, func(w http.ResponseWriter, r *http.Request) {
		index := r.URL.Query().Get("index")
		if !r.URL.Query().Has("consistent") {
			t.Errorf("asked for what may be out of date: %v", r.URL)
		}
		switch asked.Add(1) {
		case 1: // the beginning
			answerWith(w, 200, entryFor(n, 100, 100))
		case 2:
			answerWith(w, 100, entryFor(n, 100, 100))
		case 3:
			if index != "100" {
				t.Errorf("asked for what is after %s", index)
			}
			answerWith(w, 90, entryFor(m, 50, 50))
		default:
			if index != "90" {
				t.Errorf("asked for what is after %q", index)
			}
			<-r.Context().Done()
		}
	})
	v := viewing(within(t), t, c, "d")
	v.shows("a node", driver.Node{Key: n.Key, Token: n.Token})
	v.shows("another", driver.Node{Key: m.Key, Token: m.Token})
	eventually(t, "it is asked again", func() bool { return asked.Load() == 4 })
}

// What Consul answers while it has no leader, or too many connections, does not
// end a watch; a rejection does.
func TestWatchOverErrors(t *testing.T) {
	answers := []struct {
		status int
		body   string
	}{
		{500, "No cluster leader"},
		{500, "rpc error making call: EOF"},
		{500, "rpc error making call: leadership lost while committing log"},
		{429, "Your IP is issuing too many concurrent connections, please rate limit your calls"},
		{503, "rate limit exceeded for operation that can only be performed by the leader"},
		{502, "Bad Gateway"},
	}
	n := waitedFor("0", 100)
	var asked atomic.Int32
	c := fake(t, func(w http.ResponseWriter, r *http.Request) {
		at := int(asked.Add(1)) - 1
		switch { // each error twice: for the list and for the query
		case at < len(answers):
			w.WriteHeader(answers[at].status)
			_, _ = w.Write([]byte(answers[at].body))
		case at == len(answers):
			answerWith(w, 100)
		case at <= 2*len(answers):
			w.WriteHeader(answers[at-len(answers)-1].status)
			_, _ = w.Write([]byte(answers[at-len(answers)-1].body))
		case at == 2*len(answers)+1:
			answerWith(w, 120, entryFor(n, 100, 100))
		default:
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte("Permission denied"))
		}
	})
	v := viewing(within(t), t, c, "d")
	v.shows("an empty directory")
	v.shows("a node", driver.Node{Key: n.Key, Token: n.Token})
	v.ends(driver.ErrDenied)
}
