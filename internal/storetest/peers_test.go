package storetest

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/internal/testserver"
)

// peers is the network between the members of an etcd or Consul cluster, out of which
// one of them can be taken. Each member is known to all others by the same addresses.
// Who calls there is told by the process that the connection belongs to.
type peers struct {
	t       testing.TB
	running sync.WaitGroup

	mu       sync.Mutex
	doors    []*door
	gossips  []*gossip // of Consul; several if ports turned out to be taken
	conns    map[net.Conn]struct{}
	isolated int // the member that is; -1 for none
}

// door is an address of a member, with a way from each of the others.
type door struct {
	to       int
	addr     string // of the member itself
	listener net.Listener
	from     map[int]*netfault.Proxy
}

func newPeers(t testing.TB) *peers {
	p := &peers{t: t, conns: make(map[net.Conn]struct{}), isolated: -1}
	t.Cleanup(func() {
		p.mu.Lock()
		for _, d := range p.doors {
			_ = d.listener.Close() // nothing is written to it
			for _, way := range d.from {
				if err := way.Close(); err != nil {
					t.Error(err)
				}
			}
		}
		for _, g := range p.gossips {
			g.close()
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

// startPartedEtcd starts a cluster whose members can be cut off from each other.
func startPartedEtcd(t *testing.T) *store {
	p := newPeers(t)
	s := startEtcd(t, testserver.EtcdOptions{Members: 3, PeerAddr: func(to int, addr string) (string, error) {
		return p.open(to, addr, "127.0.0.1:0")
	}})
	s.partition = p
	return s
}

// startPartedConsul likewise.
func startPartedConsul(t *testing.T) *store {
	p := newPeers(t)
	s := startConsul(t, testserver.ConsulOptions{Members: 3, SessionTTLMin: consulTTL, PeerHost: p.openConsul})
	s.partition = p
	return s
}

// open makes a door to a member at an address of its own, and returns that.
func (p *peers) open(to int, addr, at string) (string, error) {
	listener, err := net.Listen("tcp", at)
	if err != nil {
		return "", err
	}
	d := &door{to: to, addr: addr, listener: listener, from: make(map[int]*netfault.Proxy)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doors = append(p.doors, d)
	for from := range 3 {
		if from == to {
			continue
		}
		if d.from[from], err = netfault.New(addr); err != nil {
			delete(d.from, from)
			return "", err
		}
	}
	p.running.Go(func() { p.attend(d) })
	return listener.Addr().String(), nil
}

// attend passes on the connections of a door.
func (p *peers) attend(d *door) {
	for {
		caller, err := d.listener.Accept()
		if err != nil {
			return
		}
		if !p.begin(caller) {
			return
		}
		p.running.Go(func() {
			defer p.end(caller)
			from, found := memberThatOwns(caller.RemoteAddr().(*net.TCPAddr).Port, caller.LocalAddr().(*net.TCPAddr).Port)
			target := d.addr // the test's own looks
			if found && from != d.to {
				target = d.from[from].Addr()
			}
			called, err := net.Dial("tcp", target)
			if err != nil || !p.begin(called) {
				return
			}
			defer p.end(called)
			p.running.Go(func() {
				_, _ = io.Copy(caller, called) // whatever ends it
				_ = caller.Close()             // ends the other direction
			})
			_, _ = io.Copy(called, caller)
		})
	}
}

func (p *peers) begin(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil {
		_ = c.Close() // nobody waits for it
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *peers) end(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	_ = c.Close() // may be closed already
}

// isolate takes a member out of the network of the members. Clients still reach it.
func (p *peers) isolate(victim int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isolated = victim
	for _, d := range p.doors {
		for from, way := range d.from {
			if from == victim || d.to == victim {
				way.Freeze(netfault.Both)
			}
		}
	}
	return nil
}

func (p *peers) heal() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isolated = -1
	for _, d := range p.doors {
		for _, way := range d.from {
			if err := way.Heal(); err != nil {
				return err
			}
		}
	}
	return nil
}

// memberThatOwns finds the member, a child of this process, that has a connection from
// one port of this machine to another, by /proc (see proc(5)).
func memberThatOwns(from, to int) (member int, found bool) {
	inode := inodeOf(from, to)
	if inode == "" {
		return 0, false
	}
	children, _ := filepath.Glob("/proc/self/task/*/children") // the pattern is sound
	for _, list := range children {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for _, pid := range strings.Fields(string(text)) {
			if member, is := memberOfCommand(pid); is && owns(pid, inode) {
				return member, true
			}
		}
	}
	return 0, false
}

// inodeOf returns the inode of a connection's socket, by the kernel's table.
func inodeOf(from, to int) string {
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(table)) {
		// number, local address, remote address, state, and the inode as the tenth
		f := strings.Fields(line)
		if len(f) >= 10 && strings.HasSuffix(f[1], hexPort(from)) && strings.HasSuffix(f[2], hexPort(to)) {
			return f[9]
		}
	}
	return ""
}

func hexPort(port int) string { return fmt.Sprintf(":%04X", port) }

// memberName is how the command of a member of etcd or Consul names it.
var memberName = regexp.MustCompile(`(?:--name=|/)m([0-9])(?:\.json)?\x00`)

func memberOfCommand(pid string) (member int, is bool) {
	command, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
	if err != nil {
		return 0, false
	}
	m := memberName.FindSubmatch(command)
	if m == nil {
		return 0, false
	}
	return int(m[1][0] - '0'), true
}

func owns(pid, inode string) bool {
	files, _ := filepath.Glob(filepath.Join("/proc", pid, "fd", "*")) // the pattern is sound
	for _, f := range files {
		if target, err := os.Readlink(f); err == nil && target == "socket:["+inode+"]" { // it may be closed by now
			return true
		}
	}
	return false
}
