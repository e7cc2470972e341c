package consul

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap/zaptest"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/internal/dial"
)

// balancer is a way to an agent that takes connections for as long as it lives, and what is
// sent, and may forward nothing.
type balancer struct {
	listener net.Listener
	target   string
	muted    atomic.Int32 // connections up to this one are
	accepted atomic.Int32
	running  sync.WaitGroup
	life     context.Context
}

// startBalancer listens at an address.
func startBalancer(t *testing.T, addr string) *balancer {
	t.Helper()
	listener, err := net.Listen("tcp", addr)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	b := &balancer{listener: listener, target: strings.TrimPrefix(single.Get(t).Member(0).Endpoint(), "http://"), life: ctx}
	b.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			n := b.accepted.Add(1)
			b.running.Go(func() { b.serve(client, n) })
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = listener.Close() // once is enough
		b.running.Wait()
	})
	return b
}

func (b *balancer) serve(client net.Conn, n int32) {
	defer client.Close()
	server, err := net.Dial("tcp", b.target)
	if err != nil {
		return
	}
	defer server.Close()
	defer context.AfterFunc(b.life, func() { _ = client.Close(); _ = server.Close() })()
	pass := func(to, from net.Conn) {
		buffer := make([]byte, 32<<10)
		for {
			read, err := from.Read(buffer)
			if err == nil && n > b.muted.Load() {
				_, err = to.Write(buffer[:read])
			}
			if err != nil {
				return
			}
		}
	}
	b.running.Go(func() { pass(client, server); _ = client.Close() })
	pass(server, client)
}

// mute mutes all connections that there are, and so many of those to come.
func (b *balancer) mute(more int32) { b.muted.Store(b.accepted.Load() + more) }

// All connections go mute, of one agent and of three, while new ones work: the session
// lives, and calls and waits go on.
func TestMuteConnections(t *testing.T) {
	for _, ways := range []int{1, 3} {
		t.Run(fmt.Sprint(ways), func(t *testing.T) {
			t.Parallel()
			var all []*balancer
			var hosts []string
			for range ways {
				b := startBalancer(t, "127.0.0.1:0")
				all, hosts = append(all, b), append(hosts, b.listener.Addr().String())
			}
			c, err := openOn(within(t), driver.Target{Hosts: hosts, Namespace: namespace(t), Logger: zaptest.NewLogger(t)})
			must(t, err)
			f := &fixture{conn: c, t: t, admin: newAdmin(t, single.Get(t).Member(0).Endpoint(), "")}
			s := f.open(5 * time.Second)
			nodes := f.fill(s, "d", 3)
			wait := waiting(within(t), s, nodes[0])
			f.eventuallyWaiting("d", 1)
			for _, b := range all {
				b.mute(0)
			}
			outlives(t, s)
			eventually(t, "a call is answered", func() bool { _, err := s.Create(within(t), "d", "9", nil); return err == nil })
			f.remove(nodes[0].Key)
			must(t, receive(t, "the wait", wait))
			must(t, s.Err())
			must(t, c.Close())
		})
	}
}

// A name with two addresses, of which the first accepts and says nothing, or closes, or
// drops packets.
func TestNameWithSeveralAddresses(t *testing.T) {
	silent := func(net.Conn) {}
	closes := func(c net.Conn) { _ = c.Close() }
	for what, first := range map[string]func(net.Conn){"silent": silent, "closes": closes, "drops packets": nil} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			good := startBalancer(t, "127.0.0.1:0")
			_, port, err := net.SplitHostPort(good.listener.Addr().String())
			must(t, err)
			addr := "192.0.2.1" // of the block for documentation: nobody is there
			if first != nil {
				addr = fmt.Sprint("127.0.", 1+len(what), ".2")
				bad, err := net.Listen("tcp", net.JoinHostPort(addr, port))
				must(t, err)
				defer bad.Close()
				go func() {
					for {
						conn, err := bad.Accept()
						if err != nil {
							return
						}
						first(conn)
						defer conn.Close()
					}
				}()
			}
			var lookups atomic.Int32
			network := dial.TCP()
			network.Lookup = func(context.Context, string) ([]string, error) {
				lookups.Add(1)
				return []string{addr, "127.0.0.1"}, nil
			}
			c, err := open(within(t), driver.Target{
				Hosts: []string{"agents.test:" + port}, Namespace: namespace(t), Logger: zaptest.NewLogger(t),
			}, network)
			must(t, err)
			var s driver.Session
			eventually(t, "a session is opened", func() bool {
				s, err = c.OpenSession(within(t), 10*time.Second)
				if err != nil && !driver.Transient(err) {
					t.Fatal(err)
				}
				return err == nil
			})
			eventually(t, "a node is made", func() bool { _, err = s.Create(within(t), "d", "0", nil); return err == nil })
			outlives(t, s)
			if lookups.Load() < 2 {
				t.Error("the name was not resolved anew")
			}
			must(t, c.Close())
		})
	}
}

// A proxy that the environment names is not used.
func TestNoProxyFromTheEnvironment(t *testing.T) {
	if new(dialer).newTransport(nil, 1, time.Second).Proxy != nil { // package http reads the environment but once
		t.Error("the transport asks for a proxy")
	}
}
