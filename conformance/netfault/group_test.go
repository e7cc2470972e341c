package netfault

import (
	"slices"
	"testing"

	"go.uber.org/goleak"
)

// cluster is a group before as many backends.
type cluster struct {
	*Group
	servers []*backend
}

func newCluster(t testing.TB, n int) cluster {
	t.Helper()
	var c cluster
	var targets []string
	for range n {
		b := newBackend(t)
		c.servers = append(c.servers, b)
		targets = append(targets, b.addr())
	}
	g, err := newGroup(network, targets)
	must(t, err)
	t.Cleanup(func() { closeAll(t, g.Control) })
	c.Group = g
	return c
}

// pairs connects through every proxy.
func (c cluster) pairs(t testing.TB) (clients, servers []stream) {
	t.Helper()
	for i, addr := range c.Addrs() {
		clients = append(clients, dial(t, addr))
		servers = append(servers, c.servers[i].accepted(t))
	}
	return clients, servers
}

func TestGroupVerbsActOnAll(t *testing.T) {
	c := newCluster(t, 3)
	clients, servers := c.pairs(t)
	c.Freeze(Up)
	for i, client := range clients {
		send(t, client, "late")
		must(t, c.Proxy(i).WaitHeld(patient(t), Up))
	}
	if held := c.Held(Both); held != 12 {
		t.Errorf("Held(Both) = %d over the group, want 12", held)
	}
	heal(t, c.Control)
	for _, server := range servers {
		receive(t, server, "late")
	}

	c.Cut()
	for i, addr := range c.Addrs() {
		receiveReset(t, clients[i])
		if !refused(t, addr) {
			t.Errorf("proxy %d of a cut group took a connection", i)
		}
	}
	heal(t, c.Control)
	clients, servers = c.pairs(t)
	for i := range clients {
		works(t, clients[i], servers[i])
	}
	if s := c.Stats(); s.Accepted != 6 || s.Conns != 3 {
		t.Errorf("counters of the group: %+v, want 6 accepted and 3 live", s)
	}
}

func TestGroupOneMember(t *testing.T) {
	c := newCluster(t, 2)
	clients, servers := c.pairs(t)
	c.Proxy(0).Freeze(Both)
	send(t, clients[0], "late")
	must(t, c.WaitHeld(patient(t), Up))
	works(t, clients[1], servers[1])
	must(t, c.Proxy(1).Wait(patient(t), func(s Stats) bool { return s.Up.Held == 0 && s.Down.Held == 0 }))
	heal(t, c.Control) // heals what was broken singly, too
	receive(t, servers[0], "late")

	must(t, c.Proxy(0).Close())
	c.DropConnections()
	receiveReset(t, clients[1])
	must(t, c.WaitConns(patient(t), 0))
}

// One reply is lost, not one for each member.
func TestGroupDropNextReplyOnce(t *testing.T) {
	c := newCluster(t, 2)
	clients, servers := c.pairs(t)
	c.DropNextReply()
	send(t, clients[1], "request")
	receive(t, servers[1], "request")
	send(t, servers[1], "reply")
	receiveReset(t, clients[1])
	works(t, clients[0], servers[0])
}

func TestNewGroupErrors(t *testing.T) {
	before := goleak.IgnoreCurrent()
	for _, targets := range [][]string{nil, {"127.0.0.1:1", "nowhere"}} {
		if g, err := newGroup(network, targets); err == nil {
			_ = g.Close()
			t.Errorf("NewGroup(%q) succeeded", targets)
		}
	}
	wantNoneLeft(t, before)
}

func TestGroupAddrsAreDistinct(t *testing.T) {
	addrs := newCluster(t, 3).Addrs()
	slices.Sort(addrs)
	if n := len(slices.Compact(addrs)); n != 3 {
		t.Errorf("%d distinct addresses in %v, want 3", n, addrs)
	}
}
