package storetest

import (
	"fmt"
	"net"
	"strconv"

	"github.com/coordkit/coordkit/internal/testserver"
)

// peerHost is the address of this machine that members of Consul know each other by.
const peerHost = "127.0.255.1"

// gossip passes on what members of Consul send each other by UDP. It has a socket in the
// place of each, from which the others hear of it.
type gossip struct {
	sockets []net.PacketConn
	ports   []int
}

// openConsul makes the doors of the members' PeerHost.
func (p *peers) openConsul(ports []testserver.ConsulPorts) (string, error) {
	g := &gossip{}
	p.mu.Lock()
	p.gossips = append(p.gossips, g) // is closed whatever follows
	p.mu.Unlock()
	for i, member := range ports {
		for _, port := range []int{member.RPC, member.Gossip} {
			if _, err := p.open(i, local(port), net.JoinHostPort(peerHost, strconv.Itoa(port))); err != nil {
				return "", err
			}
		}
		socket, err := net.ListenPacket("udp", net.JoinHostPort(peerHost, strconv.Itoa(member.Gossip)))
		if err != nil {
			return "", err
		}
		g.sockets, g.ports = append(g.sockets, socket), append(g.ports, member.Gossip)
	}
	for to := range g.sockets {
		p.running.Go(func() { p.relay(g, to) })
	}
	return peerHost, nil
}

func local(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// relay passes on what is sent to a member, until its socket is closed.
func (p *peers) relay(g *gossip, to int) {
	packet := make([]byte, 1<<16)
	member := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: g.ports[to]}
	for {
		n, sender, err := g.sockets[to].ReadFrom(packet)
		if err != nil {
			return
		}
		for from, port := range g.ports {
			if sender.(*net.UDPAddr).Port == port && !p.parted(from, to) {
				_, _ = g.sockets[from].WriteTo(packet[:n], member) // UDP may lose it
			}
		}
	}
}

// parted reports whether one of two members is isolated.
func (p *peers) parted(a, b int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.isolated == a || p.isolated == b
}

func (g *gossip) close() {
	for _, s := range g.sockets {
		_ = s.Close() // nothing is kept
	}
}
