package storetest

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/internal/testserver"
)

// partition is the network between the members of a ZooKeeper ensemble, out of
// which one of them can be taken. Between any two there is a way for each
// direction in which they call: a proxy, and behind it a desk that sees to it
// that who is called back is called by such a way, too.
type partition struct {
	running sync.WaitGroup

	mu    sync.Mutex
	ways  []way
	conns map[net.Conn]struct{} // of the desks; nil once closed
}

// way is one from a member to another.
type way struct {
	from, to int
	addr     string // where it leads
	proxy    *netfault.Proxy
	desk     net.Listener
}

func newPartition(t testing.TB) *partition {
	p := &partition{conns: make(map[net.Conn]struct{})}
	t.Cleanup(func() {
		p.mu.Lock()
		for _, w := range p.ways {
			if err := w.proxy.Close(); err != nil {
				t.Error(err)
			}
			if err := w.desk.Close(); err != nil {
				t.Error(err)
			}
		}
		for c := range p.conns {
			_ = c.Close() // may be closed already
		}
		p.conns = nil
		p.mu.Unlock()
		p.running.Wait()
	})
	return p
}

// way makes the way for the members' PeerAddr.
func (p *partition) way(from, to int, addr string) (string, error) {
	desk, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	proxy, err := netfault.New(desk.Addr().String())
	if err != nil {
		_ = desk.Close()
		return "", err
	}
	w := way{from, to, addr, proxy, desk}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ways = append(p.ways, w)
	p.running.Go(func() { p.attend(w) })
	return proxy.Addr(), nil
}

// isolations are faults of the network between the members.
var isolations = members([]memberFault{
	{name: "its member isolated, a follower", cut: isolate, heal: rejoin},
	{name: "its member isolated, the leader", leader: true, cut: isolate, heal: rejoin},
	{name: "a follower isolated", knowAll: true, lasts: 20, cut: isolate, heal: rejoin},
	{name: "the leader isolated", leader: true, knowAll: true, lasts: 20, cut: isolate, heal: rejoin},
})

func isolate(s *store, victim int) error { return s.partition.isolate(victim) }
func rejoin(s *store, _ int) error       { return s.partition.heal() }

// parting can take a member out of the network between the members.
type parting interface {
	isolate(victim int) error
	heal() error
}

// startPartedZooKeeper starts an ensemble whose members can be cut off from each other.
func startPartedZooKeeper(t *testing.T) *store {
	p := newPartition(t)
	s := startZooKeeper(t, testserver.ZooKeeperOptions{Members: 3, PeerAddr: p.way})
	s.partition = p
	return s
}

// isolate takes a member out of the network of the members. Clients still
// reach it.
func (p *partition) isolate(victim int) error {
	for _, w := range p.ways {
		if w.from == victim || w.to == victim {
			w.proxy.Freeze(netfault.Both)
		}
	}
	return nil
}

func (p *partition) heal() error {
	for _, w := range p.ways {
		if err := w.proxy.Heal(); err != nil {
			return err
		}
	}
	return nil
}

// attend passes the connections of a way on.
func (p *partition) attend(w way) {
	for {
		caller, err := w.desk.Accept()
		if err != nil {
			return
		}
		if !p.begin(caller) {
			return
		}
		p.running.Go(func() {
			defer p.end(caller)
			called, err := net.Dial("tcp", w.addr)
			if err != nil || !p.begin(called) {
				return
			}
			defer p.end(called)
			p.running.Go(func() {
				_, _ = io.Copy(caller, called) // whatever ends it
				_ = caller.Close()             // ends the other direction
			})
			if hello, err := p.hello(w, caller); err == nil {
				if _, err := called.Write(hello); err == nil {
					_, _ = io.Copy(called, caller)
				}
			}
		})
	}
}

func (p *partition) begin(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil {
		_ = c.Close() // nobody waits for it
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *partition) end(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	_ = c.Close() // may be closed already
}

// voteCall begins what a member says that calls for votes, as in ZooKeeper's
// QuorumCnxManager.InitialMessage: this, its number in 8 bytes, and the address
// to call back, as text, after its length in 4.
const voteCall = -65536

// hello reads what a caller says first, with another address to call back: that
// of the way there.
func (p *partition) hello(w way, caller io.Reader) ([]byte, error) {
	said := make([]byte, 8)
	if _, err := io.ReadFull(caller, said); err != nil {
		return nil, err
	}
	if int64(binary.BigEndian.Uint64(said)) != voteCall {
		return said, nil // a call for data
	}
	rest := make([]byte, 8+4)
	if _, err := io.ReadFull(caller, rest); err != nil {
		return nil, err
	}
	addr := make([]byte, binary.BigEndian.Uint32(rest[8:]))
	if _, err := io.ReadFull(caller, addr); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, back := range p.ways {
		if back.from == w.to && back.to == w.from && back.addr == string(addr) {
			addr = []byte(back.proxy.Addr())
			break
		}
	}
	said = binary.BigEndian.AppendUint32(append(said, rest[:8]...), uint32(len(addr)))
	return append(said, addr...), nil
}
