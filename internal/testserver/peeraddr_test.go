package testserver

import (
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// relays are listeners in the place of members, which count who comes.
type relays struct {
	t       *testing.T
	running sync.WaitGroup
	used    []*atomic.Int32 // by listener
}

func newRelays(t *testing.T) *relays {
	r := &relays{t: t}
	t.Cleanup(r.running.Wait)
	return r
}

// open listens at an address and passes on to another.
func (r *relays) open(at, target string) (string, error) {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return "", err
	}
	r.t.Cleanup(func() { l.Close() })
	used := new(atomic.Int32)
	r.used = append(r.used, used)
	r.running.Go(func() { relay(l, target, func() { used.Add(1) }) })
	return l.Addr().String(), nil
}

// wantUsed wants every listener to be used.
func (r *relays) wantUsed() {
	r.t.Helper()
	for i, n := range r.used {
		if n.Load() == 0 {
			r.t.Errorf("nobody came by way of listener %d of %d", i, len(r.used))
		}
	}
}

func TestEtcdPeerAddr(t *testing.T) {
	r := newRelays(t)
	e := StartEtcd(t, EtcdOptions{Members: 3, PeerAddr: func(_ int, addr string) (string, error) {
		return r.open("127.0.0.1:0", addr)
	}})
	_, err := e.Leader(patient(t))
	must(t, err)
	r.wantUsed()

	_, err = NewEtcd(t.Context(), EtcdOptions{Members: 3, PeerAddr: func(int, string) (string, error) { return "", os.ErrPermission }})
	if want := "PeerAddr: permission denied"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, expected %q", err, want)
	}
}

// What the members send by UDP is lost here, and they do without it.
func TestConsulPeerHost(t *testing.T) {
	const host = "127.0.254.1"
	r := newRelays(t)
	c := StartConsul(t, ConsulOptions{Members: 3, PeerHost: func(ports []ConsulPorts) (string, error) {
		for _, p := range ports {
			for _, port := range []int{p.RPC, p.Gossip} {
				if _, err := r.open(net.JoinHostPort(host, strconv.Itoa(port)), net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err != nil {
					return "", err
				}
			}
		}
		return host, nil
	}})
	leader, err := c.Leader(patient(t))
	must(t, err)
	if r.used[2*leader].Load() == 0 {
		t.Errorf("nobody came by way of the leader's listener")
	}

	_, err = NewConsul(t.Context(), ConsulOptions{Members: 3, PeerHost: func([]ConsulPorts) (string, error) { return "", os.ErrPermission }})
	if want := "PeerHost: permission denied"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, expected %q", err, want)
	}
}
